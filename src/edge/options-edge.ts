/** Where a secret is kept, as written in the configuration: exactly one of the two. */
interface WrittenSecret {
  /** Name of an environment variable. */
  readonly env?: string | undefined
  /** Path of a file, relative to the configuration file. */
  readonly file?: string | undefined
}

/** Placeholder of a secret where only the options' shape matters, and in an author's own test. */
export const unreadSecret = '(secret)'

/**
 * Meaning of paths and secrets for the schemas that `tidegauge` exports. A collector's process replaces it. The
 * default, for an author's own test or an editor, leaves a path as written and does not read a secret.
 */
export const optionsEdge: {
  /** Records a declared path. @returns it as an absolute path */
  path: (written: string) => string
  /** Records a declared secret. @returns the secret of this run, or `unreadSecret` */
  secret: (written: WrittenSecret) => string
} = { path: written => written, secret: () => unreadSecret }
