/**
 * A command line as advice.
 *
 * @param words what follows the program's name
 * @param config the configuration file, where the command does not find it without `--config`
 */
export function commandLine(words: string, config?: string): string {
  return `tidegauge ${words}${config === undefined ? '' : ` --config ${shellWord(config)}`}`
}

/** A word quoted for a shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
