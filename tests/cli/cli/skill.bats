#!/usr/bin/env bats
# The skill for coding agents: its text, the places of its installation, and that we overwrite nobody's text.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose

load ../helper

source=$BATS_TEST_DIRNAME/../../../skills/anabranch/SKILL.md
installed=.claude/skills/anabranch/SKILL.md

seal() { # what ours ends with, for the text on the standard input
    local digest
    digest=$(openssl sha256 -r | cut -d' ' -f1)
    echo "<!-- anabranch: end, sha256 $digest -->"
}

# A file as another version of ours would have written it.
as_other_version() { # TEXT
    printf '%s\n' "$1"
    printf '%s\n' "$1" | seal
}

skill() { # [OPTION...]
    run_apart anabranch skill "$@"
    assert_no_sanitizer
}

assert_refused() { # FILE
    assert_status 2
    # shellcheck disable=SC2154 # run_apart sets it
    [[ $stderr == *"'$PWD/$1' was changed by somebody"*--force* ]] || fail "no such message"
    cmp -s "$1" "$BATS_TEST_TMPDIR/before" || fail "$1 was changed"
}

# The text

@test "the skill has the front matter that the format asks for" {
    run sed -n '1p; 2p; 4p' "$source"
    assert_output $'---\nname: anabranch\n---'
    local description
    description=$(sed -n '3s/^description: //p' "$source")
    [[ ${#description} -gt 100 && ${#description} -le 1024 && $description != *": "* ]] || fail "$description"
}

@test "show prints the file of the source, or all behind its front matter" {
    skill show
    assert_status 0
    assert_output "$(<"$source")"
    skill show --agents-md
    assert_status 0
    assert_output "$(tail -n +6 "$source")"
}

@test "the plan in the skill is one that check accepts" {
    anabranch skill show | awk '/^```$/ { on = 0 } on; /^```toml$/ { on = 1 }' >plan.toml
    [[ -s plan.toml ]] || fail "no plan"
    run anabranch check --strict plan.toml
    assert_status 0
}

@test "every command and option that the skill names is there" {
    local name option
    while read -r name option; do
        run anabranch help "$name"
        assert_status 0
        [[ -z $option ]] || grep -qE -e "^ .*$option([ =[]|\$)" <<<"$output" || fail "no option $option"
    done < <(anabranch skill show | grep -oE '(^|`)anabranch [a-z]+( --[a-z-]+)?' | sed 's/.*anabranch //' | sort -u
        printf '%s\n' 'fanout --tmux' 'fanout --allow-dirty' 'status --json' 'converge --into-base')
}

# The place of the file

@test "install puts it at the top of the repository, and the second time changes nothing" {
    make_repo
    umask 022
    run env -C dir "$ANABRANCH" skill install
    assert_status 0
    assert_output "$PWD/$installed: installed"
    diff <(cat "$source"; seal <"$source") "$installed" || fail "another text"
    [[ $(stat -c %a .claude "$installed") == $'755\n644' ]] || fail "not for others to read"
    local before
    before=$(stat -c '%i %Y' "$installed")
    skill install --project
    assert_status 0
    assert_output "$PWD/$installed: is up to date"
    [[ $(stat -c '%i %Y' "$installed") == "$before" ]] || fail "written again"
    [[ -z $(find . -name '.anabranch*') ]] || fail "something is left"
}

@test "--user puts it into Claude's own folder" {
    skill install --user
    assert_status 0
    assert_output "$HOME/.claude/skills/anabranch/SKILL.md: installed"
    [[ -s $HOME/.claude/skills/anabranch/SKILL.md ]] || fail "not there"
    CLAUDE_CONFIG_DIR=$PWD/own skill install --user
    assert_output "$PWD/own/skills/anabranch/SKILL.md: installed"
    HOME='' CLAUDE_CONFIG_DIR='' skill install --user
    assert_status 3
}

@test "wrong calls, and no repository" {
    skill install
    assert_status 3
    [[ $stderr == *"not a git repository; --user"* ]] || fail "no hint"
    skill install --user --project
    assert_usage_error "--user and --project exclude each other" skill
    skill install --user --agents-md
    assert_usage_error "--agents-md is for a project, not with --user" skill
    skill show --force
    assert_usage_error "--user, --project and --force are for 'install'" skill
    [[ -z $(ls -A) && -z $(ls -A "$HOME") ]] || fail "something was written"
}

# Existing files

@test "the program updates a skill that another version wrote" {
    make_repo
    mkdir -p "${installed%/*}"
    as_other_version "An older text." >"$installed"
    skill install
    assert_status 0
    assert_output "$PWD/$installed: updated"
    diff "$source" <(sed '$d' "$installed") || fail "another text"
    cp "$source" "$installed" # without the seal
    skill install
    assert_output "$PWD/$installed: updated"
}

@test "the program keeps a skill that somebody has changed, unless --force" {
    make_repo
    anabranch skill install
    sed -i 's/^1\. Find out/1. First find out/' "$installed"
    cp "$installed" "$BATS_TEST_TMPDIR/before"
    skill install
    assert_refused "$installed"
    echo 'One line more.' >>"$installed"
    cp "$installed" "$BATS_TEST_TMPDIR/before"
    skill install
    assert_refused "$installed"
    skill install --force
    assert_status 0
    assert_output "$PWD/$installed: overwritten"
    skill install
    assert_output "$PWD/$installed: is up to date"
}

@test "a symlink is not written through" {
    make_repo
    mkdir -p "${installed%/*}"
    echo mine >"$BATS_TEST_TMPDIR/mine"
    ln -s "$BATS_TEST_TMPDIR/mine" "$installed"
    skill install --force
    assert_status 2
    [[ $(<"$BATS_TEST_TMPDIR/mine") == mine && -L $installed ]] || fail "written through"
}

# AGENTS.md

@test "--agents-md adds a section, and leaves the rest alone" {
    make_repo
    skill install --agents-md
    assert_status 0
    assert_output "$PWD/AGENTS.md: installed"
    [[ ! -e .claude ]] || fail "for Claude as well"
    cp AGENTS.md "$BATS_TEST_TMPDIR/section"
    diff <(tail -n +6 "$source") <(sed '1d;$d' AGENTS.md) || fail "another text"

    printf '# Rules\n\nBe brief.' >AGENTS.md # without a newline
    skill install --agents-md
    diff <(printf '# Rules\n\nBe brief.\n\n'; cat "$BATS_TEST_TMPDIR/section") AGENTS.md || fail "another text"
    echo 'Below.' >>AGENTS.md
    skill install --agents-md
    assert_output "$PWD/AGENTS.md: is up to date"
    [[ $(tail -n 1 AGENTS.md) == Below. ]] || fail "lost"
}

@test "a section of another version is replaced in its place; a changed one, or half of one, is not" {
    make_repo
    {
        echo above
        as_other_version $'<!-- anabranch: begin -->\nold'
        echo below
    } >AGENTS.md
    skill install --agents-md
    assert_output "$PWD/AGENTS.md: updated"
    [[ $(head -n 1 AGENTS.md) == above && $(tail -n 1 AGENTS.md) == below ]] || fail "lost"
    ! grep -qx old AGENTS.md || fail "not replaced"

    sed -i 's/^1\. Find out/1. First find out/' AGENTS.md
    cp AGENTS.md "$BATS_TEST_TMPDIR/before"
    skill install --agents-md
    assert_refused AGENTS.md
    skill install --agents-md --force
    assert_output "$PWD/AGENTS.md: overwritten"
    [[ $(head -n 1 AGENTS.md) == above && $(tail -n 1 AGENTS.md) == below ]] || fail "lost"

    printf '%s\n' '<!-- anabranch: begin -->' half below >AGENTS.md
    cp AGENTS.md "$BATS_TEST_TMPDIR/before"
    skill install --agents-md --force
    assert_status 2
    cmp -s AGENTS.md "$BATS_TEST_TMPDIR/before" || fail "changed"
}
