/** The collector of a test, as it would stand in a configuration. */
export interface TriedCollector {
  /** As in the configuration: a path from the configuration file (`./supply.ts`), a shipped collector or a package. */
  readonly use: string
  /**
   * The configuration file, relative to the working directory. `record` reads the chains and prices from it; otherwise
   * only the folder it lies in counts. Default: `tidegauge.yaml`.
   */
  readonly configFile?: string | URL
  /** Default: none. */
  readonly options?: unknown
}

/** An hour: `'2026-11-20T13:00:00Z'`, or in milliseconds since 1970. */
export type HourOf = string | number
