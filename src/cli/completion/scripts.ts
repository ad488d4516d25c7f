/** A shell in; the script that makes it ask `fairlead __complete` for the words that may follow out. */
export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Where nothing is known, the shell completes files. */
export const completionScripts: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for fairlead: source <(fairlead completion bash)
_fairlead() {
  local IFS=$'\\n'
  COMPREPLY=($(fairlead __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _fairlead fairlead
`,
  zsh: `#compdef fairlead
# zsh completion for fairlead: source <(fairlead completion zsh)
_fairlead() {
  local -a found
  found=("\${(@f)$(fairlead __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _fairlead fairlead
`,
  fish: `# fish completion for fairlead: fairlead completion fish | source
function __fairlead_complete
  set -l words (commandline -opc) (commandline -ct)
  fairlead __complete -- $words[2..-1] 2>/dev/null
end
complete -c fairlead -a '(__fairlead_complete)'
`,
};
