import type { Outbox } from '../../../src/outbox/contract/outbox.ts'

/** Methods that answer at once, whatever the store. */
const atOnce: ReadonlySet<PropertyKey> = new Set(['maybeSent'])

/**
 * An outbox whose answers take a while: it is asked late and is heard late, as one behind a network is. Between a
 * question and its answer anything may happen.
 *
 * @param pause called before each request and after each answer
 */
export function slowOutbox(outbox: Outbox, pause: () => Promise<void>): Outbox {
  const slow = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        if (atOnce.has(name)) return member.bind(target)
        if (name === 'finalBlocks') return (...given: unknown[]) => slow(member.apply(target, given))
        return async (...given: unknown[]) => {
          await pause()
          try {
            return await member.apply(target, given)
          } finally {
            await pause()
          }
        }
      },
    })
  return {
    intake: slow(outbox.intake),
    delivery: slow(outbox.delivery),
    operators: slow(outbox.operators),
    status: slow(outbox.status),
    reports: slow(outbox.reports),
    lists: slow(outbox.lists),
    health: outbox.health,
    startUpkeep: options => outbox.startUpkeep(options),
    limitWaits: () => outbox.limitWaits(),
    close: () => outbox.close(),
  }
}

/** Waits for a few turns of the event loop, as many as chance says. */
export async function someTurns(chance: () => number, most = 3): Promise<void> {
  for (let left = Math.floor(chance() * (most + 1)); left > 0; left -= 1) await new Promise(setImmediate)
}

/** A port of which some methods are others. */
export function portWith<T extends object>(port: T, methods: Partial<T>): T {
  return new Proxy(port, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name)
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
