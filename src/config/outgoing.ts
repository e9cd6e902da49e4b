import type { Config, PlacedSecret } from './config.ts'

/** A secret that reports to people need, and its role. */
export interface OutgoingSecret {
  /** Its role, for messages: `the address of the heartbeat`. */
  readonly what: string
  readonly ref: PlacedSecret
}

/** The secrets that the heartbeat needs. */
export function outgoingSecrets({ heartbeat }: Pick<Config, 'heartbeat'>): OutgoingSecret[] {
  return heartbeat ? [{ what: 'the address of the heartbeat', ref: heartbeat.url }] : []
}
