import { shellWord } from './text.ts'

/** Form of a text, for which a file's name is escaped. */
type TextForm = 'plain' | 'json' | 'html'

const escapes: Readonly<Record<TextForm, (word: string) => string>> = {
  plain: word => word,
  json: word => JSON.stringify(word).slice(1, -1),
  html: word => word.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`),
}

/**
 * Commands that take `--config`, as sentences name them: not as a part of a path, and at the begin of a line also where JSON
 * escapes the break. Another process may have named its file.
 */
const commands =
  /(?<=^|\\n|[^\w/.-])tidegauge (?:(?:dead|held|due) (?:ls|show|retry|release|drop)|warnings ack|notify test|lists (?:ls|forget)|fleet (?:ls|take service)|run|collect|backfill|flush|status|gaps|warnings|dead|held|due|history|export|diff|backup|check|doctor|explain|register|show|verify|move|healthcheck)(?![\w/-])( --config\b)?/g

let file: string | undefined

/**
 * Sets the configuration file of this process's advice.
 *
 * @param named absent where commands find it without `--config`
 */
export function adviseFile(named: string | undefined): void {
  file = named
}

/**
 * A text whose commands name the configuration of this process, as a person must type them. Sentences are made in many places,
 * and stored, where it is not known how a command was called: they write `tidegauge dead ls`, and all texts for people pass
 * here on their way out.
 */
export function withFile(text: string, form: TextForm = 'plain'): string {
  if (file === undefined) return text
  const option = ` --config ${escapes[form](shellWord(file))}`
  return text.replace(commands, (command, named?: string) => (named === undefined ? command + option : command))
}
