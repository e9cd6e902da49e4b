import type { Config, PlacedSecret, SecretRef } from './config.ts'

/** A secret that reports to people need, and its role. */
export interface OutgoingSecret {
  /** Its role, for messages: `the address of the heartbeat`. */
  readonly what: string
  readonly ref: PlacedSecret
  /** `address`: it is posted to. */
  readonly kind: 'address' | 'token' | 'chat'
}

/** The secrets that the heartbeat and notifications need. */
export function outgoingSecrets({ heartbeat, notify }: Pick<Config, 'heartbeat' | 'notify'>): OutgoingSecret[] {
  return [
    ...(heartbeat ? [{ what: 'the address of the heartbeat', ref: heartbeat.url, kind: 'address' } as const] : []),
    ...notify.flatMap((receiver, index): OutgoingSecret[] => {
      const name = `notify[${index}]`
      if (receiver.kind !== 'telegram') {
        return [{ what: `the ${receiver.kind} address of ${name}`, ref: receiver.url, kind: 'address' }]
      }
      const { token, chat } = receiver
      const chatRef = chat.kind === 'text' ? [] : [{ ...chat, place: token.place }]
      return [
        { what: `the token of ${name}`, ref: token, kind: 'token' },
        ...chatRef.map(ref => ({ what: `the chat of ${name}`, ref, kind: 'chat' as const })),
      ]
    }),
  ]
}

/** Id of a secret's place, for names of receivers: equal for equal places. */
export function placeName(ref: SecretRef): string {
  return ref.kind === 'env' ? ref.name : ref.path
}
