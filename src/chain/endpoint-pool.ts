import type { Time } from '../time.ts'
import { allFailed } from './chain-faults.ts'
import { type Endpoint, openEndpoint } from './endpoint.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { endpointRestMs } from './limits.ts'

/** Whoever reads for one hour remembers here which endpoint serves it, so that one serves all of its reads. */
export interface Served {
  endpoint?: Endpoint
}

/** An endpoint silent for longer than this when its caller gives up is taken for hung. */
const silenceMs = 1_000

/** The endpoints of one chain, in the order of preference. */
export interface EndpointPool {
  /**
   * Does the work on the hour's endpoint, else on the next that can.
   *
   * @throws Fault when none can; whatever else `work` throws, as it is
   */
  serve<T>(hour: Served, signal: AbortSignal, work: (endpoint: Endpoint) => Promise<T>): Promise<T>
  close(): void
}

/** Told when an endpoint could not serve and another is asked instead: its host, and why. */
export type PassedOver = (host: string, reason: string) => void

/** @param urls the first is preferred; secrets */
export function endpointPool(
  chain: { name: string; id: number },
  urls: readonly string[],
  time: Time,
  passedOver: PassedOver,
): EndpointPool {
  const endpoints = urls.map(url => openEndpoint(url, chain.id, time))
  const restsUntilMs = new Map<Endpoint, number>()

  function inOrder(preferred: Endpoint | undefined): Endpoint[] {
    const nowMs = time.nowMs()
    const rests = (endpoint: Endpoint) => (restsUntilMs.get(endpoint) ?? 0) > nowMs
    const rank = (endpoint: Endpoint) => (rests(endpoint) ? 2 : endpoint === preferred ? 0 : 1)
    return endpoints.toSorted((a, b) => rank(a) - rank(b))
  }

  const rest = (endpoint: Endpoint) => restsUntilMs.set(endpoint, time.nowMs() + endpointRestMs)

  return {
    async serve(hour, signal, work) {
      const failures: EndpointFailure[] = []
      for (const endpoint of inOrder(hour.endpoint)) {
        hour.endpoint = endpoint
        const startedMs = time.nowMs()
        const givenUp = () => {
          if (time.nowMs() - startedMs >= silenceMs) rest(endpoint)
        }
        signal.addEventListener('abort', givenUp, { once: true })
        try {
          return await work(endpoint)
        } catch (error) {
          signal.throwIfAborted()
          if (!(error instanceof EndpointFailure)) throw error
          failures.push(error)
          if (failures.length < endpoints.length) passedOver(error.host, error.reason)
          if (error.kind === 'unreachable' || error.kind === 'wrong-id') rest(endpoint)
        } finally {
          signal.removeEventListener('abort', givenUp)
        }
      }
      delete hour.endpoint
      throw allFailed(chain.name, failures)
    },
    close() {
      for (const endpoint of endpoints) endpoint.close()
    },
  }
}
