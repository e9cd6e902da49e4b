/** A mistake in a value's options; `path` leads to it from there. */
export class OptionEntryMistake extends Error {
  readonly path: readonly (string | number)[]

  constructor(path: readonly (string | number)[], message: string) {
    super(message)
    this.path = path
  }
}
