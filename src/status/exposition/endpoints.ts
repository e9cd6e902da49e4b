import type { Scrape } from '../scrape.ts'
import type { EndpointState } from '../snapshot.ts'
import { type Family, type Labels, stateSamples } from './text.ts'

const states = ['well', 'unreachable', 'wrong-id', 'behind', 'pruned', 'limited', 'quarantine', 'no-address'] as const

/** Metrics of the nodes that chains are read from. */
export function endpointFamilies({ endpoints }: Scrape): Family[] {
  const named = labelled(endpoints)
  return [
    {
      name: 'tidegauge_endpoint_state',
      type: 'gauge',
      help: '1 for the state of a node when it was asked last, 0 for the others.',
      samples: named.flatMap(({ labels, endpoint }) => stateSamples(states, stateOf(endpoint), labels)),
    },
    {
      name: 'tidegauge_endpoint_consecutive_failures',
      type: 'gauge',
      help: 'Times in a row that a node was asked in vain.',
      samples: named.map(({ labels, endpoint }) => [labels, endpoint.failuresInRow ?? 0] as const),
    },
    {
      name: 'tidegauge_endpoint_head_timestamp_seconds',
      type: 'gauge',
      help: 'Timestamp of the last block a node reported; absent before the first. Nodes are asked when an hour is read.',
      samples: named.flatMap(({ labels, endpoint: { head } }) => (head ? [[labels, head.atMs / 1000] as const] : [])),
    },
    {
      name: 'tidegauge_endpoint_calls_total',
      type: 'counter',
      help: 'Calls sent to a node by their outcome, since the start; one that is sent again counts again.',
      samples: named.flatMap(({ labels, endpoint: { calls = {} } }) =>
        Object.entries(calls).map(([outcome, count]) => [{ ...labels, outcome }, count] as const),
      ),
    },
  ]
}

function stateOf({ state, trouble }: EndpointState): (typeof states)[number] {
  return state === 'no-address' || state === 'quarantine' ? state : (trouble ?? 'well')
}

/** Labels of each endpoint. Two of a chain on one host, with different keys, are numbered: two lines with the same labels would be one series. */
function labelled(
  endpoints: readonly EndpointState[],
): { readonly labels: Labels; readonly endpoint: EndpointState }[] {
  const seen = new Map<string, number>()
  return endpoints.map(endpoint => {
    const { chain, host } = endpoint
    const count = (seen.get(`${chain} ${host}`) ?? 0) + 1
    seen.set(`${chain} ${host}`, count)
    return { labels: { chain, endpoint: count === 1 ? host : `${host} (${count})` }, endpoint }
  })
}
