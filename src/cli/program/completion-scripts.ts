/** The words that can follow a command; `path` is empty for the program itself. */
export interface Words {
  readonly path: string
  readonly next: readonly { readonly word: string; readonly means: string }[]
}

/** The words typed so far, without options and their values, are looked up in one table. */
export function bashCompletion(words: readonly Words[]): string {
  const cases = words.map(
    ({ path, next }) => `    "${path}") next="${next.map(({ word }) => word).join(' ')}" ;;`,
  )
  return `# Completion of vitrina for bash.
_vitrina() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" next="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) break ;; *) path="\${path:+$path }$word" ;; esac
  done
  while :; do
    case "$path" in
${cases.map((line) => `  ${line}`).join('\n')}
    esac
    [[ -n "$next" || "$path" != *" "* ]] && break
    path="\${path% *}"
  done
  COMPREPLY=($(compgen -W "$next" -- "$current"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _vitrina vitrina
`
}

export function zshCompletion(words: readonly Words[]): string {
  const cases = words.map(
    ({ path, next }) =>
      `    "${path}") next=(${next.map(({ word, means }) => quote(`${word}:${means}`)).join(' ')}) ;;`,
  )
  return `#compdef vitrina
# Completion of vitrina for zsh.
_vitrina() {
  local -a next
  local trail="" word
  for word in \${words[2,CURRENT-1]}; do
    case "$word" in -*) break ;; *) trail="\${trail:+$trail }$word" ;; esac
  done
  while :; do
    case "$trail" in
${cases.map((line) => `  ${line}`).join('\n')}
    esac
    [[ \${#next} -gt 0 || "$trail" != *" "* ]] && break
    trail="\${trail% *}"
  done
  _describe 'vitrina' next || _files
}
if [ "$funcstack[1]" = "_vitrina" ]; then _vitrina "$@"; else compdef _vitrina vitrina; fi
`
}

/**
 * After a command with subcommands only they fit; after any other command its options, whatever has been typed since.
 */
export function fishCompletion(words: readonly Words[]): string {
  const lines = words.flatMap(({ path, next }) => {
    const test = next.every(({ word }) => word.startsWith('-')) ? '__vitrina_in' : '__vitrina_at'
    return next.map(({ word, means }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`
      return `complete -c vitrina -n '${test} "${path}"' ${what} -d ${quote(means)}`
    })
  })
  return `# Completion of vitrina for fish.
function __vitrina_typed
  set -l typed (commandline -opc)
  string join ' ' -- (string match -v -- '-*' $typed[2..-1])
end
function __vitrina_at
  set -l typed (__vitrina_typed)
  test "$typed" = "$argv[1]"
end
function __vitrina_in
  set -l typed (__vitrina_typed)
  string match -q -- "$argv[1] *" "$typed "
end
${lines.join('\n')}
`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
