/** Why a flush ended before every due metric had a verdict. */
export interface Stop {
  /**
   * `transient`: the service fails, or asks to wait. `systemic`: it rejects everything, so no metric is at fault.
   * `misdirected`: the address is not the service's. `stopped`: the process ends it.
   */
  readonly kind: 'transient' | 'key-refused' | 'misdirected' | 'systemic' | 'stopped'
  /** The reason as a sentence, for a person. */
  readonly reason: string
  /** Whether the key could not be read, so that the service is not at fault. Default: no. */
  readonly isKeyMissing?: true
  /** Whether the refused key is the one that was refused before. Default: no. */
  readonly isUnchanged?: true
}
