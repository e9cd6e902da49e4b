/** A mistake by its path in the file's value; load.ts adds its place. */
export interface Finding {
  readonly path: readonly PropertyKey[]
  /** Whether it is about the key at `path` or about the value. */
  readonly at: 'key' | 'value'
  readonly message: string
  readonly fix?: string
  /** For an unknown key: the one probably meant. */
  readonly meant?: string
}
