#include "agent/engine/env.h"

#include "base/buf.h"

#include <stdarg.h>
#include <string.h>

void env_set(struct strv *env, const char *name, const char *fmt, ...)
{
    autobuf struct buf entry = BUF_INIT;
    va_list ap;
    buf_addf(&entry, "%s=", name);
    size_t len = entry.len;
    va_start(ap, fmt);
    buf_addv(&entry, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < env->n; i++) {
        if (strncmp(env->v[i], entry.s, len) == 0) {
            free(env->v[i]);
            env->v[i] = buf_steal(&entry);
            return;
        }
    }
    strv_push(env, entry.s);
}

bool env_has(const struct strv *env, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < env->n; i++) {
        if (strncmp(env->v[i], name, len) == 0 && env->v[i][len] == '=')
            return true;
    }
    return false;
}

int env_set_planned(struct strv *env, const struct env_var *var, struct err *err)
{
    const char *value = var->from ? getenv(var->from) : var->value;
    if (!value)
        return err_set(err, ERR_INPUT, "the variable '%s', needed for '%s', is not set", var->from,
                       var->name);
    env_set(env, var->name, "%s", value);
    return 0;
}
