# usage: zsh -f complete.zsh SCRIPT LINE...
# Types each LINE and a tab into an interactive zsh with the completions of SCRIPT, and
# prints the completed line.
zmodload zsh/zpty || exit
script=$1
shift

zpty shell "TERM=dumb PS1= zsh -f -i"
zpty -w shell "autoload -Uz compinit; compinit -D -u; source ${(q)script}; setopt no_beep no_auto_list"
zpty -w shell 'unset zle_bracketed_paste; show() { print -r -- "<<$BUFFER>>"; BUFFER= }; zle -N show'
zpty -w shell 'bindkey "^T" show; bindkey "^I" complete-word; print rea""dy'
zpty -r shell out '*ready*' || exit
for line; do
    zpty -w -n shell "$line"$'\t\x14'
    zpty -r shell out '*<<*>>*' || exit
    print -r -- "${${out##*<<}%%>>*}"
done
zpty -d shell
