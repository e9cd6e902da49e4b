/** An exclusive right of one process in a data folder, until released or the process ends. */
export interface Role {
  /** Gives the role up. */
  release(): void
  /** Whether the lock file is the one at its path: a person may have deleted or replaced it. */
  readonly isInPlace: boolean
  /**
   * Takes the lock again when its file was replaced.
   *
   * @returns `renewed` when it was taken again, `lost` when another process has it
   */
  renew(): 'held' | 'renewed' | 'lost'
}
