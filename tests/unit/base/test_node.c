#include "base/node/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct pos here = {3, 7};

static struct node *put(struct arena *a, struct node *map, const char *key, enum node_kind kind)
{
    struct node *n = node_new(a, kind, here);
    node_put(a, map, key, strlen(key), (struct pos){1, 2}, n);
    return n;
}

static void test_string(void **state)
{
    (void)state;
    struct arena a = {0};
    char bytes[] = "x\0y";
    struct node *n = node_string(&a, bytes, 3, here);
    bytes[0] = '?';
    assert_int_equal(n->kind, NODE_STRING);
    assert_int_equal(n->len, 3);
    assert_memory_equal(n->text, "x\0y", 4);
    assert_int_equal(n->pos.line, 3);
    assert_int_equal(n->pos.col, 7);
    arena_done(&a);
}

static void test_order(void **state)
{
    (void)state;
    struct arena a = {0};
    struct node *map = node_new(&a, NODE_MAP, here);
    static const char *const keys[] = {"z", "a", "m"};
    for (size_t i = 0; i < 3; i++)
        (void)put(&a, map, keys[i], NODE_NULL);
    size_t i = 0;
    node_each (member, map) {
        assert_string_equal(member->key, keys[i]);
        assert_int_equal(member->index, i);
        assert_ptr_equal(member->parent, map);
        i++;
    }
    assert_int_equal(i, 3);
    assert_int_equal(map->n, 3);
    assert_string_equal(map->last->name, "m");
    assert_int_equal(map->last->key_pos.col, 2);
    arena_done(&a);
}

static void test_get(void **state)
{
    (void)state;
    struct arena a = {0};
    struct node *map = node_new(&a, NODE_MAP, here), *list = node_new(&a, NODE_LIST, here);
    struct node *nul = node_new(&a, NODE_NULL, here);
    node_put(&a, map, "id\0x", 4, here, nul);
    struct node *id = put(&a, map, "id", NODE_INT),
                *foreign = put(&a, map, "max_retries", NODE_INT);
    foreign->name = "retry";
    assert_ptr_equal(node_get(map, "id"), id);
    assert_ptr_equal(node_get(map, "retry"), foreign);
    assert_null(node_get(map, "max_retries"));
    assert_null(node_get(list, "id"));
    assert_null(node_get(NULL, "id"));
    arena_done(&a);
}

static void test_path(void **state)
{
    (void)state;
    struct arena a = {0};
    autobuf struct buf path = BUF_INIT;
    struct node *root = node_new(&a, NODE_MAP, here), *tasks = put(&a, root, "tasks", NODE_LIST);
    struct node *task = node_new(&a, NODE_MAP, here);
    node_append(tasks, node_new(&a, NODE_NULL, here));
    node_append(tasks, task);
    struct node *env = put(&a, task, "env", NODE_MAP), *odd = put(&a, env, "a b\n", NODE_NULL);
    struct node *empty = put(&a, root, "", NODE_MAP), *deep = put(&a, empty, "x-1_Y", NODE_NULL);
    static const char *const paths[] = {"", "tasks[1]", "tasks[1].env[\"a b\\n\"]", "[\"\"].x-1_Y"};
    const struct node *nodes[] = {root, task, odd, deep};
    for (size_t i = 0; i < 4; i++) {
        buf_cut(&path, 0);
        node_path(nodes[i], &path);
        assert_string_equal(path.s, paths[i]);
    }
    arena_done(&a);
}

static void test_path_of_a_deep_tree(void **state)
{
    (void)state;
    struct arena a = {0};
    autobuf struct buf path = BUF_INIT;
    struct node *n = node_new(&a, NODE_LIST, here);
    for (size_t i = 0; i < 100000; i++) {
        struct node *child = node_new(&a, NODE_LIST, here);
        node_append(n, child);
        n = child;
    }
    node_path(n, &path);
    assert_int_equal(path.len, 300000);
    arena_done(&a);
}

static void test_kind_names(void **state)
{
    (void)state;
    for (enum node_kind k = NODE_NULL; k <= NODE_MAP; k++)
        assert_non_null(node_kind_name(k));
    assert_string_equal(node_kind_name(NODE_INT), "an integer");
    assert_string_equal(node_kind_name(NODE_MAP), "a mapping");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_path_of_a_deep_tree),
        cmocka_unit_test(test_kind_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
