import type { Time } from '../../edge/time.ts'
import type { FinalBlocks, Hex } from '../../model/block.ts'
import type { CallMeter } from '../endpoint/call-meter.ts'
import type { CountsOf } from '../endpoint/call-outcomes.ts'
import type { EndpointSource, PassedOver } from '../endpoint/endpoint-pool.ts'
import type { EndpointWatch } from '../endpoint/endpoint-watch.ts'

/** Dependencies of `createChainReader`. */
export interface ChainReaderDeps {
  /** Name of the chain in the configuration. */
  readonly name: string
  /** The expected answer to `eth_chainId`. */
  readonly id: number
  /** URLs (http, https, ws, wss) or IPC paths, the first preferred. Secrets: they appear in no Fault. */
  readonly endpoints: readonly EndpointSource[]
  readonly time: Time
  /**
   * Delay after an hour until its as-of block counts as final, in milliseconds. Default: a safe time for the chain id.
   */
  readonly settleMs?: number
  /** Address of Multicall3. Default: the usual one. */
  readonly multicall?: Hex | undefined
  /** Cache of final as-of blocks. Default: a cache of this process only. */
  readonly finalBlocks?: FinalBlocks
  /** Called when an endpoint failed and another is asked instead. */
  readonly passedOver?: PassedOver
  /** Called with words for how calls see their block, when that turns out to differ from its header. Default: no one. */
  readonly contextFound?: ((words: string) => void) | undefined
  /** Sees how the endpoints do. Default: no one looks. */
  readonly watch?: EndpointWatch | undefined
  /** Longest wait for the chain's next block within a look-up; after it the caller has to retry. Default: 30 s. */
  readonly patienceMs?: number
  /** Counts what is sent, and may stop it. */
  readonly meter?: CallMeter
  /** Where the outcomes of calls are counted. Default: from 0. */
  readonly countsOf?: CountsOf | undefined
}
