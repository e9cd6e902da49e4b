/** Why a flush ended before there was a verdict on everything due. */
export interface Stop {
  /**
   * `transient`: the service fails, or asks to wait. `systemic`: it rejects everything, so no metric is at fault.
   * `misdirected`: the address is not the service's. `stopped`: the process ends it.
   */
  readonly kind: 'transient' | 'key-refused' | 'misdirected' | 'systemic' | 'stopped'
  /** For people. */
  readonly reason: string
}
