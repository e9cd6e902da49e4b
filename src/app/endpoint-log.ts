import type { FailureKind } from '../chain/endpoint/endpoint-failure.ts'
import type { EndpointFailed, EndpointWatch } from '../chain/endpoint/endpoint-watch.ts'
import type { Time } from '../edge/time.ts'
import type { Log } from '../telemetry/log.ts'

/** Milliseconds after a return within which another outage is not news, unless it lasts as long. */
const flapMs = 10 * 60_000

/** Failures that make an endpoint useless until they end, with the advice; others concern a read, an hour or a rate. */
const outages: Readonly<Partial<Record<FailureKind, string>>> = {
  unreachable: 'check that the node runs and can be reached from here; a second endpoint under rpc: takes over',
  'wrong-id': 'correct id or rpc of the chain in the configuration',
  behind:
    'compare its head with an explorer: if that is later, the node is not in sync; a second endpoint under rpc: takes over',
}

/** Whether an endpoint that fails so cannot serve at all. */
export function isOutage(kind: FailureKind): boolean {
  return outages[kind] !== undefined
}

/** An endpoint that cannot serve, or that could not lately. */
interface Outage {
  /** When it began; absent when it is over. Steady, in milliseconds. */
  sinceMs?: number | undefined
  /** Whether a line has said that it began. */
  isLogged: boolean
  /** When a line said that the endpoint serves again; steady. */
  overAtMs: number
  /** Outages since without a line. */
  unlogged: number
}

/**
 * Logs one line when an endpoint of a chain cannot serve any more, and one when it serves again. One that comes and goes is
 * not logged each time: its outages are counted, and stand in its next line.
 */
export class EndpointLog implements EndpointWatch {
  readonly #chain: string
  readonly #log: Log
  readonly #time: Pick<Time, 'steadyMs'>
  readonly #outages = new WeakMap<object, Outage>()

  constructor(chain: string, log: Log, time: Pick<Time, 'steadyMs'>) {
    this.#chain = chain
    this.#log = log
    this.#time = time
  }

  failed({ endpoint, kind, reason }: EndpointFailed): void {
    const fix = kind === 'quarantine' ? '' : outages[kind]
    if (fix === undefined) return
    const nowMs = this.#time.steadyMs()
    const outage = this.#of(endpoint)
    outage.sinceMs ??= nowMs
    if (outage.isLogged) return
    // Why it is in quarantine is logged where that is decided.
    outage.isLogged = kind === 'quarantine' || nowMs - outage.sinceMs >= flapMs || !this.#isFlapping(outage)
    if (!outage.isLogged || kind === 'quarantine') return
    this.#log.warn(
      { chain: this.#chain, endpoint: endpoint.host, reason, ...again(outage), fix },
      'endpoint cannot serve: it is asked last until it can',
    )
    outage.unlogged = 0
  }

  served(endpoint: { readonly host: string }): void {
    const outage = this.#outages.get(endpoint)
    if (outage?.sinceMs === undefined) return
    const nowMs = this.#time.steadyMs()
    const afterSeconds = Math.round((nowMs - outage.sinceMs) / 1000)
    const { isLogged } = outage
    outage.sinceMs = undefined
    outage.isLogged = false
    if (!isLogged) {
      outage.unlogged += 1
      return
    }
    outage.overAtMs = nowMs
    this.#log.info({ chain: this.#chain, endpoint: endpoint.host, afterSeconds }, 'endpoint serves again')
  }

  remarked({ host }: { readonly host: string }, remark: string): void {
    this.#log.warn({ chain: this.#chain, endpoint: host, remark }, 'endpoint makes a mistake that does no harm')
  }

  #isFlapping({ overAtMs }: Outage): boolean {
    return this.#time.steadyMs() - overAtMs < flapMs
  }

  #of(endpoint: object): Outage {
    const known = this.#outages.get(endpoint)
    if (known) return known
    const outage = { isLogged: false, overAtMs: Number.NEGATIVE_INFINITY, unlogged: 0 }
    this.#outages.set(endpoint, outage)
    return outage
  }
}

function again({ unlogged }: Outage): { readonly outagesBefore?: number } {
  return unlogged > 0 ? { outagesBefore: unlogged } : {}
}
