// Completions of the command line. The scripts of the shells ask the program, which knows its commands, options and values: they need
// no change when a command does.
import type { Command, Option } from 'commander'
import { readContexts } from '../target/contexts.ts'

/** The shells with a script. */
export const completionShells = ['bash', 'zsh', 'fish'] as const
/** One of `completionShells`. */
export type CompletionShell = (typeof completionShells)[number]

/** The hidden command that the scripts call. */
export const COMPLETE_COMMAND = 'complete'

/** A candidate for the word at the cursor. */
interface CompletionCandidate {
  readonly value: string
  /** May be empty. */
  readonly description: string
}

/** The words that are possible at the cursor: candidates, or names of files or folders. */
export interface Completions {
  readonly candidates: readonly CompletionCandidate[]
  readonly files: 'none' | 'files' | 'folders'
}

const nothing: Completions = { candidates: [], files: 'none' }
const files: Completions = { candidates: [], files: 'files' }
const folders: Completions = { candidates: [], files: 'folders' }

/** Finds the words that are possible at the cursor. `words`: those between the program and the cursor; `current`: the word at the cursor. */
export function completionsFor(program: Command, words: readonly string[], current: string): Completions {
  let command = program
  let operands = 0
  let pending: Option | null = null
  for (const word of words) {
    if (pending !== null) pending = null
    else if (word.startsWith('-') && word.length > 1) {
      const [name = '', value] = word.split('=', 2)
      const option = optionNamed(command, name)
      pending = option !== null && takesValue(option) && value === undefined ? option : null
    } else {
      const inner = operands === 0 ? command.commands.find((one) => one.name() === word) : undefined
      if (inner === undefined) operands += 1
      else command = inner
    }
  }
  return startingWith(current, offered(command, operands, pending, current))
}

function offered(command: Command, operands: number, pending: Option | null, current: string): Completions {
  if (pending !== null) return valuesOf(pending)
  const assigned = /^(--[\w-]+)=/.exec(current)
  if (assigned !== null) {
    const option = optionNamed(command, assigned[1] ?? '')
    if (option === null) return nothing
    const { candidates, files: kind } = valuesOf(option)
    return {
      candidates: candidates.map(({ value, description }) => ({ value: `${option.long}=${value}`, description })),
      files: kind,
    }
  }
  if (current.startsWith('-')) return optionsOf(command)
  if (command.commands.length > 0 && operands === 0) return commandsOf(command)
  return operandValues(command, operands)
}

function optionNamed(command: Command, name: string): Option | null {
  return command.options.find((option) => option.long === name || option.short === name) ?? null
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional
}

function optionsOf(command: Command): Completions {
  const own = command.options.map(({ long, short, description }) => ({ value: long ?? short ?? '', description }))
  return { candidates: [...own, { value: '--help', description: 'print the help' }], files: 'none' }
}

function commandsOf(command: Command): Completions {
  const visible = command.createHelp().visibleCommands(command)
  return { candidates: visible.map((one) => ({ value: one.name(), description: one.description() })), files: 'none' }
}

/** The values of an option: its choices, the contexts, or files by the name of its argument. */
function valuesOf(option: Option): Completions {
  if (option.argChoices !== undefined) return plain(option.argChoices)
  if (option.long === '--context' && option.flags.includes('<name>')) return contexts()
  const argument = /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1] ?? ''
  return byArgument(argument)
}

function operandValues(command: Command, operands: number): Completions {
  const all = command.registeredArguments
  const argument = all[operands] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined)
  if (argument === undefined) return nothing
  if (argument.argChoices !== undefined) return plain(argument.argChoices)
  if (command.parent?.name() === 'context') return contexts()
  return byArgument(argument.name())
}

function byArgument(name: string): Completions {
  if (/^(?:dir|folder)s?$/.test(name)) return folders
  return /^(?:file|path|log)s?$/.test(name) ? files : nothing
}

function plain(values: readonly string[]): Completions {
  return { candidates: values.map((value) => ({ value, description: '' })), files: 'none' }
}

/** A file that cannot be read must not disturb the command line. */
function contexts(): Completions {
  try {
    const { contexts: all } = readContexts()
    const described = Object.entries(all).map(([value, { url, data, folder, graph }]) => ({
      value,
      description: url ?? data ?? folder ?? graph ?? '',
    }))
    return { candidates: described, files: 'none' }
  } catch {
    return nothing
  }
}

function startingWith(current: string, { candidates, files: kind }: Completions): Completions {
  return { candidates: candidates.filter(({ value }) => value.startsWith(current)), files: kind }
}

/** The words of a command line up to the cursor, as a shell splits it. The last one is at the cursor, and may be empty. */
export function wordsOf(line: string): readonly string[] {
  const words: string[] = []
  let word: string | null = null
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const character = line[at] as string
    if (quote !== '') {
      if (character === quote) quote = ''
      else if (character === '\\' && quote === '"' && at + 1 < line.length) word = `${word ?? ''}${line[++at]}`
      else word = `${word ?? ''}${character}`
    } else if (character === '"' || character === "'") {
      quote = character
      word ??= ''
    } else if (character === '\\' && at + 1 < line.length) word = `${word ?? ''}${line[++at]}`
    else if (/\s/.test(character)) {
      if (word !== null) words.push(word)
      word = null
    } else word = `${word ?? ''}${character}`
  }
  return [...words, word ?? '']
}

/** The lines that a script reads: `:files` or `:folders`, and each candidate with a tab and its description. */
export function completionLines({ candidates, files: kind }: Completions): readonly string[] {
  const lines = candidates.map(({ value, description }) => {
    const short = description.replace(/[\s:]+/g, ' ').slice(0, 80)
    return short === '' ? value : `${value}\t${short}`
  })
  return kind === 'none' ? lines : [`:${kind}`, ...lines]
}

/** Completes a line for bash, whose words end at `=` and `:`: only the part after the last of them is replaced. */
export function bashLines(program: Command, line: string): readonly string[] {
  const [, ...words] = wordsOf(line)
  const current = words.at(-1) ?? ''
  const found = completionsFor(program, words.slice(0, -1), current)
  const kept = current.startsWith('--') && current.includes('=') ? current.indexOf('=') + 1 : 0
  const values = found.candidates.map(({ value }) => value.slice(kept))
  return found.files === 'none' ? values : [`:${found.files}`, ...values]
}

/** The script of a shell. */
export function completionScript(shell: CompletionShell): string {
  return scripts[shell]
}

const scripts: Readonly<Record<CompletionShell, string>> = {
  bash: `# bash completion of verdigraph: save as ~/.local/share/bash-completion/completions/verdigraph, or source it in ~/.bashrc
_verdigraph() {
  local IFS=$'\\n' line current="\${COMP_WORDS[COMP_CWORD]}"
  [ "$current" = "=" ] && current=""
  COMPREPLY=()
  while read -r line; do
    case "$line" in
      :files) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$current")) ;;
      :folders) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$current")) ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done < <("\${COMP_WORDS[0]}" ${COMPLETE_COMMAND} --line "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -F _verdigraph verdigraph
`,
  zsh: `#compdef verdigraph
# zsh completion of verdigraph: save as _verdigraph in a folder of $fpath
_verdigraph() {
  local line
  local -a described plain
  for line in "\${(@f)$("\${words[1]}" ${COMPLETE_COMMAND} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case "$line" in
      '') ;;
      :files) _files ;;
      :folders) _files -/ ;;
      *$'\\t'*) described+=("\${line%%$'\\t'*}:\${line#*$'\\t'}") ;;
      *) plain+=("$line") ;;
    esac
  done
  (( \${#described} )) && _describe verdigraph described
  (( \${#plain} )) && compadd -- "\${plain[@]}"
  return 0
}
if [ "$funcstack[1]" = "_verdigraph" ]; then _verdigraph "$@"; else compdef _verdigraph verdigraph; fi
`,
  fish: `# fish completion of verdigraph: save as ~/.config/fish/completions/verdigraph.fish
function __verdigraph_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in ($words[1] ${COMPLETE_COMMAND} -- $words[2..-1] "$current" 2>/dev/null)
    switch $line
      case ':files'
        __fish_complete_path "$current"
      case ':folders'
        __fish_complete_directories "$current"
      case '*'
        echo $line
    end
  end
end
complete -c verdigraph -f -a '(__verdigraph_complete)'
`,
}
