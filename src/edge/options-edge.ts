/** Where a secret is kept, as a person writes it: exactly one of the two. */
export interface WrittenSecret {
  readonly env?: string | undefined
  readonly file?: string | undefined
}

/** Stands for a secret where options are only looked at, and in an author's own test. */
export const unreadSecret = '(secret)'

/**
 * What the place where options are parsed does with the schemas that `tidegauge` exports. A collector's process sets it;
 * elsewhere (an author's own test, an editor) a path stays as it is written, and a secret is not read.
 */
export const optionsEdge: {
  /** Notes that a path is declared. @returns where it leads */
  path: (written: string) => string
  /** Notes that a secret is declared. @returns the secret of this run, or `unreadSecret` */
  secret: (written: WrittenSecret) => string
} = { path: written => written, secret: () => unreadSecret }
