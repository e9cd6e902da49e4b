/** Origin of a collector's values of an hour: what made them, and from which endpoints. */
export interface Provenance {
  /** Version of tidegauge. */
  readonly version: string
  /** Digest of the collector's files; of a package, its version. */
  readonly code: string
  /** Digest of its options, as configured. */
  readonly options: string
  /** Host of the endpoint that served each chain, by the chain's id as `eth_chainId` answers it. */
  readonly hosts: Readonly<Record<string, string>>
}
