#!/usr/bin/env python3
"""Completions for bash and zsh, from the programs' own option tables.

    make_completions.py PROGRAM ... FOLDER

writes FOLDER/bash/NAME and FOLDER/zsh/_NAME of each program, the first of which is coppice. The files need no other
completion: neither the package bash-completion nor functions of its own.
"""

import re
import sys
from pathlib import Path

import option_tables

BASH = r"""# bash completion for NAME. Made from its option tables: changes go there.

_NAME()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} head=
	local first=FIRST command=PROGRAM options= one= verbs= second= words i
	local -a said=()
	COMPREPLY=()
	# --option=word comes as one word, or as three.
	if [[ $cur == --*=* ]]; then
		prev=${cur%%=*} head=${cur%%=*}= cur=${cur#*=}
	elif [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
SUBCOMMANDS	case $command in
OPTIONS	esac
	case $command:$prev in
ARGUMENTS	esac
	if [[ " $one " == *" $prev "* ]]; then
		return
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$cur")
		return
	fi
	for ((i = first; i < COMP_CWORD; i++)); do
		if [[ " $one " == *" ${COMP_WORDS[i]} "* ]]; then
			((i++))
			[[ ${COMP_WORDS[i]} != = ]] || ((i++))
		elif [[ ${COMP_WORDS[i]} != -* ]]; then
			said+=("${COMP_WORDS[i]}")
		fi
	done
	case ${#said[@]} in
	0) words=$verbs ;;
	1) words=; [[ ${said[0]} != "${second%%:*}" ]] || words=${second#*:} ;;
	*) words= ;;
	esac
	if [[ -n $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	else
		_NAME_paths f
	fi
}

_NAME_paths()
{
	mapfile -t COMPREPLY < <(compgen -"$1" -P "$head" -- "$cur")
	compopt -o filenames 2>/dev/null # not where a script calls the function
}

complete -F _NAME NAME
"""

BASH_SUBCOMMANDS = r"""	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "NAMES help --help --version" -- "$cur")
		return
	fi
	command=${COMP_WORDS[1]}
	if [[ $command == help ]]; then
		((COMP_CWORD > 2)) || mapfile -t COMPREPLY < <(compgen -W "NAMES" -- "$cur")
		return
	fi
"""


def bash_options(command):
    lines = [f"\t{command.name})", f'\t\toptions="{" ".join(one.name for one in command.options)}"']
    taking = [one.name for one in command.options if one.arguments == "one"]
    if taking:
        lines.append(f'\t\tone="{" ".join(taking)}"')
    if command.verbs:
        lines.append(f'\t\tverbs="{" ".join(command.verbs)}"')
    for verb, words in command.words.items():
        lines.append(f'\t\tsecond="{verb}:{" ".join(words)}"')
    return "\n".join(lines) + "\n\t\t;;\n"


def bash_arguments(commands):
    does = {"file": "\t\t_NAME_paths f", "folder": "\t\t_NAME_paths d"}
    cases = {}
    for command in commands:
        for one in command.options:
            act = does.get(one.kind)
            if one.kind == "words":
                act = f'\t\tmapfile -t COMPREPLY < <(compgen -W "{" ".join(one.words)}" -P "$head" -- "$cur")'
            if act:
                cases.setdefault(act, []).append(f"{command.name}:{one.name}")
    return "".join("\t" + " | ".join(names) + f")\n{act}\n\t\treturn\n\t\t;;\n" for act, names in cases.items())


def bash(name, commands):
    alone = [one.name for one in commands] == [name]
    text = BASH.replace("SUBCOMMANDS", "" if alone else BASH_SUBCOMMANDS.replace("NAMES", " ".join(one.name for one in commands)))
    text = text.replace("FIRST", "1" if alone else "2").replace("PROGRAM", name if alone else "")
    text = text.replace("OPTIONS", "".join(map(bash_options, commands))).replace("ARGUMENTS", bash_arguments(commands))
    return text.replace("NAME", name)


# ---- zsh


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def short(text):
    """The first part of a text of --help, for a line of a menu."""
    text = re.split(r";|\. | \(default|\(default", text)[0].strip().rstrip(":,")
    return text if len(text) <= 76 else text[:73].rsplit(" ", 1)[0] + " ..."


def escaped(text, signs):
    return re.sub(f"([{re.escape(signs)}])", r"\\\1", text)


def zsh_option(one):
    text = escaped(short(one.text), "\\[]")
    acts = {"file": "_files", "folder": "_files -/", "words": f"({' '.join(one.words)})", "": " "}
    spec = "*" * one.repeated + one.name
    if one.arguments == "none":
        return quoted(f"{spec}[{text}]")
    spec += "+" if not one.name.startswith("--") else "=-" if one.arguments == "maybe" else "="
    optional = ":" if one.arguments == "maybe" else ""
    return quoted(f"{spec}[{text}]{optional}:{escaped(one.value, ':')}:{acts[one.kind]}")


def zsh_words(command):
    """What completes the words that are no options."""
    if not command.verbs:
        return ["'*:file:_files'"]
    verbs = " ".join(f'{verb}\\:"{escaped(short(text), ":()")}"' if text else verb for verb, text in command.verbs.items())
    found = [quoted(f"1:verb:(({verbs}))")]
    for verb, words in command.words.items():
        found.append(quoted(f'2: :{{ [[ $line[1] == {verb} ]] && compadd {" ".join(words)} || _files }}'))
    return [*found, "'*:file:_files'"]


def zsh_arguments(command, indent):
    specs = ["'(- *)--help[print the options and stop]'", *map(zsh_option, command.options), *zsh_words(command)]
    return f"{indent}_arguments " + f" \\\n{indent}\t".join(specs) + "\n"


def zsh(name, commands):
    lines = [f"#compdef {name}", f"# zsh completion for {name}. Made from its option tables: changes go there.", ""]
    if [one.name for one in commands] == [name]:
        return "\n".join(lines) + "\nlocal line\n" + zsh_arguments(commands[0], "")
    names = " ".join(quoted(f"{one.name}:{escaped(one.summary, ':')}") for one in commands)
    lines += ["local context state line", "typeset -A opt_args",
              "_arguments -C '(- *)'{-h,--help}'[print the subcommands and stop]' '(- *)--version[print the version and stop]' \\",
              "\t'1:subcommand:->subcommand' '*:: :->arguments'", "case $state in", "subcommand)",
              f"\tlocal -a subcommands=({names} 'help:print the options of a subcommand')",
              "\t_describe -t commands subcommand subcommands", "\t;;", "arguments)",
              '\tcurcontext="${curcontext%:*:*}:' + name + '-$words[1]:"', "\tcase $words[1] in",
              "\thelp)", f"\t\tlocal -a subcommands=({names})", "\t\t_describe -t commands subcommand subcommands", "\t\t;;"]
    text = "\n".join(lines) + "\n"
    for one in commands:
        text += f"\t{one.name})\n{zsh_arguments(one, chr(9) * 2)}\t\t;;\n"
    return text + "\tesac\n\t;;\nesac\n"


def commands_of(path, coppice):
    """The Command of each subcommand. coppice-mpi, which starts MPI whatever it is asked, has one of coppice's."""
    name = Path(path).name
    if name == "coppice-mpi":
        return [one for one in option_tables.of_program(coppice, "coppice") if one.name == "train"]
    return option_tables.of_program(path, name)


def main(folder, *programs):
    for path in programs:
        name, commands = Path(path).name, commands_of(path, programs[0])
        for target, text in ((f"bash/{name}", bash(name, commands)), (f"zsh/_{name}", zsh(name, commands))):
            file = Path(folder, target)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[-1], *sys.argv[1:-1])
