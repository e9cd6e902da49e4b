export const connections = 16
export const metricsPerPush = 100

export function protocolIdOf(connection: number): string {
  return `bench-${connection}`
}

/** Order to the load process: a number of pushes, or as many as fit in a time. */
export interface Load {
  readonly url: string
  readonly key: string
  /** Hours since the first that no earlier load has used. */
  readonly startHour: number
  readonly pushes?: number
  readonly ms?: number
}

export interface Loaded {
  readonly pushes: number
  readonly ms: number
  /** Pushes that were not answered 200, with all metrics processed and no warning. */
  readonly errors: number
}
