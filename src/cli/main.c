#include "cli/cli.h"
#include "cli/output.h"

int main(int argc, char **argv)
{
    if (output_begin() < 0)
        return EXIT_ENV;
    return output_end(cli_main(argc, argv));
}
