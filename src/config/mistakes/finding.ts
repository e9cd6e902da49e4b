/** A mistake by its path in the file's value; load.ts gives it its place. */
export interface Finding {
  readonly path: readonly PropertyKey[]
  /** Whether it is about the key at `path` or about the value. */
  readonly at: 'key' | 'value'
  readonly message: string
  readonly fix?: string
  /** The key that was probably meant by an unknown one. */
  readonly meant?: string
}
