import type {
  AbiEvent,
  ContractFunctionArgs,
  ContractFunctionName,
  ContractFunctionParameters,
  ContractFunctionReturnType,
  GetEventArgs,
  Log,
  MulticallContracts,
  MulticallResults,
  Narrow,
} from 'viem'
import type { AsOfBlock } from '../../../model/block.ts'

/** The moment a chain is read as of. */
export interface ChainMoment {
  /** Whole hours before the hour of the run, from 0 to 8784. Default: 0. */
  readonly hoursBefore?: number | undefined
}

type ReadOnly = 'pure' | 'view'

/**
 * One chain as of the hour. Every promise rejects when its read fails: a failure is never a value.
 *
 * @example
 * ```ts
 * const supply = await chain('ethereum').read({ address: token, abi: erc20Abi, functionName: 'totalSupply' })
 * ```
 */
export interface ChainAsOf {
  /** The as-of block: the last one with a timestamp at or before the hour. */
  block(): Promise<AsOfBlock>
  /**
   * Reads one or many view functions at the as-of block, typed by their ABI. All reads of all collectors for one hour
   * and chain travel together, so single reads cost no more than a list. A list rejects when one of its calls fails.
   *
   * @param call with `from`, the `msg.sender` that the contract sees; such a read is an `eth_call` of its own, at the
   * same block in the same request
   * @throws Fault when no endpoint can answer or a contract reverts
   */
  read<
    const A extends readonly unknown[] | import('viem').Abi,
    F extends ContractFunctionName<A, ReadOnly>,
    const P extends ContractFunctionArgs<A, ReadOnly, F>,
  >(
    call: ContractFunctionParameters<A, ReadOnly, F, P> & { readonly from?: `0x${string}` | undefined },
  ): Promise<ContractFunctionReturnType<A, ReadOnly, F, P>>
  read<const C extends readonly unknown[]>(
    calls: readonly [...MulticallContracts<Narrow<C>, { mutability: ReadOnly }>],
    options?: { readonly partial?: false | undefined },
  ): Promise<MulticallResults<Narrow<C>, false, { mutability: ReadOnly }>>
  /**
   * Reads many view functions, and gives for each `{ status: 'success', result }` or `{ status: 'failure', error }`, as
   * viem's `multicall` does: a call that reverts, or whose answer does not fit its ABI, fails alone. Rejects when no
   * endpoint can answer, and for a call that cannot be encoded.
   *
   * @example
   * ```ts
   * const totals = await chain('ethereum').read(vaults.map(address => ({ address, abi, functionName: 'totalAssets' })), { partial: true })
   * const answers = totals.flatMap(({ status, result }) => (status === 'success' ? [result] : []))
   * if (answers.length === 0) throw new Error('no vault answers')   // else the sum of none would be 0
   * const sum = answers.reduce((sum, total) => sum + total, 0n)
   * ```
   */
  read<const C extends readonly unknown[]>(
    calls: readonly [...MulticallContracts<Narrow<C>, { mutability: ReadOnly }>],
    options: { readonly partial: true },
  ): Promise<MulticallResults<Narrow<C>, true, { mutability: ReadOnly }>>
  /**
   * Answer of a contract to call data at the as-of block, as bytes: what no ABI describes. An `eth_call` of its own, in
   * the same request as the other reads.
   *
   * @param call `to`, `data`, and `from`, the `msg.sender` that the contract sees. Default of `from`: Multicall3, as in
   * `read`
   * @throws Fault when no endpoint can answer or the contract reverts
   */
  call(call: {
    readonly to: `0x${string}`
    readonly data: `0x${string}`
    readonly from?: `0x${string}` | undefined
  }): Promise<`0x${string}`>
  /**
   * The 32 bytes in a storage slot of a contract at the as-of block; zeros for a slot that was never written.
   *
   * @param slot its number, or as 32 bytes of a hash
   */
  storage(address: `0x${string}`, slot: bigint | `0x${string}`): Promise<`0x${string}`>
  /** Native balance, in wei. */
  balance(of: `0x${string}`): Promise<bigint>
  /**
   * The decimals that tokens tell, in the order asked, of all in one read; 18 for the coin of the chain (0x0 and 0xEeee…).
   *
   * @throws Fault when one tells none
   */
  decimals(tokens: readonly `0x${string}`[]): Promise<readonly number[]>
  /**
   * Logs of one event, or of several (`events`), after the previous hour's as-of block, up to and including this hour's,
   * oldest first. Several are one request, and each log has its `eventName`, by which its `args` are typed.
   *
   * @example
   * ```ts
   * const logs = await chain('ethereum').logs({ address: pool, events: [mint, burn] })
   * const net = logs.reduce((sum, { eventName, args }) => sum + (eventName === 'Mint' ? args.amount : -args.amount), 0n)
   * ```
   */
  logs<const E extends AbiEvent>(filter: {
    readonly address: `0x${string}` | readonly `0x${string}`[]
    readonly event: E
    readonly args?: GetEventArgs<[E], E['name'], { EnableUnion: true; IndexedOnly: true; Required: false }>
  }): Promise<readonly EventLog<E>[]>
  logs<const E extends readonly AbiEvent[]>(filter: {
    readonly address: `0x${string}` | readonly `0x${string}`[]
    readonly events: E
  }): Promise<readonly EventLog<E[number]>[]>
  /**
   * All logs from the hour `since` on, up to the as-of block, oldest first. They are remembered, as the items of lists are, so that
   * an hour reads what is new alone; the first one may take several runs. At most 4 MiB of them, of ten filters.
   *
   * @param since the first hour whose logs count, as text or in milliseconds since 1970: the same in each run
   * @throws Fault when no endpoint can answer, there are more of them, or `since` is after the hour
   * @example
   * ```ts
   * const minted = await chain('ethereum').logsSince('2024-05-01T00:00:00Z', { address: manager, event: transfer, args: { to: vault } })
   * ```
   */
  logsSince<const E extends AbiEvent>(
    since: string | number,
    filter: {
      readonly address: `0x${string}` | readonly `0x${string}`[]
      readonly event: E
      readonly args?: GetEventArgs<[E], E['name'], { EnableUnion: true; IndexedOnly: true; Required: false }>
    },
  ): Promise<readonly EventLog<E>[]>
  logsSince<const E extends readonly AbiEvent[]>(
    since: string | number,
    filter: {
      readonly address: `0x${string}` | readonly `0x${string}`[]
      readonly events: E
    },
  ): Promise<readonly EventLog<E[number]>[]>
}

/** A log of one of the events, typed by its `eventName`. */
export type EventLog<E extends AbiEvent> = E extends AbiEvent
  ? Pick<
      Log<bigint, number, false, E, true>,
      'eventName' | 'args' | 'address' | 'blockNumber' | 'logIndex' | 'transactionHash'
    >
  : never
