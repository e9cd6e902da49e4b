import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { EndpointPool, Served } from '../../../src/chain/endpoint/endpoint-pool.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { Fault } from '../../../src/model/fault.ts'
import { echo, echoes, echoHead, echoing, faulty, never, openPool } from '../support/endpoints.ts'
import { answering, NodeError } from '../support/node.ts'

const minuteMs = 60_000

/** A clock that is set by hand. */
function handTime() {
  const sleep = async (ms: number) => {
    clock.atMs += ms
  }
  const clock = { ...systemTime, atMs: 1_700_000_000_000, nowMs: () => clock.atMs, sleep }
  return clock
}

/** The host that served one call of an hour. */
function servedBy(pool: EndpointPool, hour: Served = {}): Promise<string> {
  return pool.serve(hour, never, async endpoint => {
    await endpoint.call(echoes(1), never)
    return endpoint.host
  })
}

const hex = (number: bigint | number) => `0x${number.toString(16)}`

/** Reads state at a block as the reader does: an error answer is the endpoint's failure. */
function readState(pool: EndpointPool, blockNumber: bigint, hour: Served = { blockNumber }): Promise<string> {
  return pool.serve(hour, never, async endpoint => {
    const latest = { method: 'eth_getBlockByNumber', params: ['latest', false] }
    const read = { method: 'eth_call', params: [{}, hex(blockNumber)] }
    const [, answer] = await endpoint.call([latest, read], never)
    if (answer?.kind === 'error') throw endpoint.failure(answer.error)
    return endpoint.host
  })
}

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const outcome = await work.catch((error: unknown) => error)
  if (outcome instanceof Fault) return outcome
  throw new Error(`no Fault but ${inspect(outcome)}`)
}

describe('an endpoint that failed', () => {
  it('rests, longer with each failure in a row up to five minutes, and is preferred again once well', async () => {
    const time = handTime()
    const [first, second] = [await faulty(), await faulty()]
    const pool = openPool([first.url, second.url], { time })
    first.misbehave({ kind: 'reset' })
    for (const restMs of [0.5, 1, 2, 4, 5, 5].map(minutes => minutes * minuteMs)) {
      expect(await servedBy(pool)).toBe(second.host)
      expect(pool.health()[0]).toMatchObject({ state: 'resting', restsUntilMs: time.atMs + restMs })
      const asked = first.requests
      time.atMs += restMs - 1
      await servedBy(pool)
      expect(first.requests).toBe(asked)
      time.atMs += 1
    }
    first.misbehave()
    expect(await servedBy(pool)).toBe(first.host)
    expect(pool.health()[0]).toMatchObject({ state: 'well' })
    first.misbehave({ kind: 'reset' })
    await servedBy(pool)
    expect(pool.health()[0]?.restsUntilMs).toBe(time.atMs + minuteMs / 2)
  })

  it('for many at once failed once', async () => {
    const time = handTime()
    const [first, second] = [await faulty(), await faulty()]
    const pool = openPool([first.url, second.url], { time })
    first.misbehave({ kind: 'reset' })
    await Promise.all(Array.from({ length: 20 }, () => servedBy(pool)))
    expect(pool.health()[0]?.restsUntilMs).toBe(time.atMs + minuteMs / 2)
  })

  it('is tried by one hour alone while the others go to the next', async () => {
    const time = handTime()
    const [first, second] = [await faulty(), await faulty()]
    const pool = openPool([first.url, second.url], { time })
    first.misbehave({ kind: 'reset' })
    await servedBy(pool)
    time.atMs += minuteMs
    first.misbehave()
    first.reset()
    const hosts = await Promise.all(Array.from({ length: 5 }, () => servedBy(pool)))
    expect(hosts).toEqual([first.host, ...Array(4).fill(second.host)])
    expect(await Promise.all(Array.from({ length: 2 }, () => servedBy(pool)))).toEqual([first.host, first.host])
  })

  it('is still asked when it is the only one, or all others failed too', async () => {
    const proxy = await faulty()
    const pool = openPool([proxy.url], { time: handTime() })
    proxy.misbehave({ kind: 'reset' })
    expect((await faultOf(servedBy(pool))).code).toBe('chain-unreachable')
    proxy.misbehave()
    expect(await servedBy(pool)).toBe(proxy.host)
  })

  it('is left by the hour it served; an hour stays with the one that took over', async () => {
    const time = handTime()
    const [first, second] = [await faulty(), await faulty()]
    const pool = openPool([first.url, second.url], { time })
    const hour: Served = {}
    expect(await servedBy(pool, hour)).toBe(first.host)
    first.misbehave({ kind: 'html' })
    expect(await servedBy(pool, hour)).toBe(second.host)
    first.misbehave()
    time.atMs += 10 * minuteMs
    expect(await servedBy(pool, hour)).toBe(second.host)
    expect(await servedBy(pool)).toBe(first.host)
  })

  it('because it serves another chain is asked last, and reported', async () => {
    const [first, second] = [await faulty(), await faulty()]
    const pool = openPool([first.url, second.url], { time: handTime() })
    first.misbehave({ kind: 'chain-id', id: 5 })
    expect(await servedBy(pool)).toBe(second.host)
    expect(pool.health()[0]?.state).toBe('wrong-id')
    expect(await servedBy(pool)).toBe(second.host)
    expect(first.requests).toBe(1)
    const alone = openPool([first.url])
    expect((await faultOf(servedBy(alone))).code).toBe('chain-wrong-id')
  })
})

describe('a node that does not keep old state', () => {
  it('is not asked for it again and again where another has it, and still for what is new', async () => {
    // Twice the same harmless call there and at the last block.
    const probe = 4
    const [pruned, full] = [await faulty(), await faulty()]
    const pool = openPool([pruned.url, full.url], { time: handTime() })
    pruned.misbehave({ kind: 'no-state', before: 9_000n })
    expect(await readState(pool, 5_000n)).toBe(full.host)
    expect(pruned.calls['eth_call']).toBe(2 + probe)
    for (const number of [4_999n, 17n, 5_000n]) expect(await readState(pool, number)).toBe(full.host)
    expect(pruned.calls['eth_call']).toBe(2 + probe)
    expect(await readState(pool, 9_500n)).toBe(pruned.host)
    expect(await readState(pool, 8_000n)).toBe(full.host)
    expect(await readState(pool, 7_000n)).toBe(full.host)
    expect(pruned.calls['eth_call']).toBe(2 + probe + 1 + 1 + probe)
    expect(pool.health().map(({ state, servesStateFrom }) => [state, servesStateFrom])).toEqual([
      ['well', 9_500n],
      ['well', 17n],
    ])
  })

  it('is tried again after an hour', async () => {
    const time = handTime()
    const [pruned, full] = [await faulty(), await faulty()]
    const pool = openPool([pruned.url, full.url], { time })
    pruned.misbehave({ kind: 'no-state', before: 9_000n })
    await readState(pool, 5_000n)
    pruned.misbehave()
    expect(await readState(pool, 5_000n)).toBe(full.host)
    time.atMs += 61 * minuteMs
    expect(await readState(pool, 5_000n)).toBe(pruned.host)
  })

  it('is left by an hour that it served so far', async () => {
    const [pruned, full] = [await faulty(), await faulty()]
    const pool = openPool([pruned.url, full.url], { time: handTime() })
    const hour: Served = { blockNumber: 5_000n }
    expect(await servedBy(pool, hour)).toBe(pruned.host)
    pruned.misbehave({ kind: 'no-state', before: 9_000n })
    expect(await readState(pool, 5_000n, hour)).toBe(full.host)
    expect(hour.endpoint?.host).toBe(full.host)
  })

  it.each([
    'missing trie node 1f (path ) state 0x1f is not available, not found',
    'required historical state unavailable (reexec=128)',
    'state already discarded',
    'old data not available due to pruning: state at block #5000 is pruned',
    'No state available for block 0x1',
  ])('alone is a permanent fault that asks for an archive: %s', async message => {
    const pruned = await faulty()
    pruned.misbehave({ kind: 'no-state', before: 9_000n, message })
    const fault = await faultOf(readState(openPool([pruned.url]), 5_000n))
    expect(fault.code).toBe('chain-state-missing')
    expect(fault.permanence).toBe('permanent')
    expect(fault.fix).toContain('archive')
  })

  it.each(['header not found', 'Unknown block', 'Internal error', 'version does not exist (latest height: 199)'])(
    'is found by asking, whatever its words: %s',
    async message => {
      const [first, full] = [await faulty(), await faulty()]
      first.misbehave({ kind: 'no-state', before: 9_000n, message })
      const alone = await faultOf(readState(openPool([first.url]), 5_000n))
      expect([alone.code, alone.permanence]).toEqual(['chain-state-missing', 'permanent'])
      expect(alone.message).toContain('has no state of block 5000, though of its last block: it answered an error: ')
      const pool = openPool([first.url, full.url])
      first.reset()
      for (const number of [5_000n, 5_000n, 17n]) expect(await readState(pool, number)).toBe(full.host)
      // The read, which was the last of a batch once more alone, and twice the same two calls.
      expect(first.calls['eth_call']).toBe(2 + 4)
    },
  )

  it('next to one that cannot be reached is a fault that may pass', async () => {
    const [pruned, dead] = [await faulty(), await faulty()]
    pruned.misbehave({ kind: 'no-state', before: 9_000n })
    dead.misbehave({ kind: 'reset' })
    const fault = await faultOf(readState(openPool([pruned.url, dead.url]), 5_000n))
    expect([fault.code, fault.permanence]).toEqual(['chain-unreachable', 'transient'])
  })

  it('is a node without it also while it fails with something else, but not for newer blocks', async () => {
    const time = handTime()
    const pruned = await faulty()
    const pool = openPool([pruned.url], { time })
    const judged = async (blockNumber: bigint) => {
      const { code, fix } = await faultOf(readState(pool, blockNumber))
      return [code, fix?.includes('archive')]
    }
    pruned.misbehave({ kind: 'no-state', before: 9_000n })
    expect(await judged(5_000n)).toEqual(['chain-state-missing', true])
    for (const fault of [
      { kind: 'reset' },
      { kind: 'status', status: 502 },
      { kind: 'error', code: -32000, message: 'busy' },
    ] as const) {
      pruned.misbehave(fault)
      for (const number of [5_000n, 4_999n, 17n]) expect(await judged(number)).toEqual(['chain-state-missing', true])
      expect(await judged(5_001n)).toEqual(['chain-unreachable', false])
    }
    expect(pool.health()[0]?.state).toBe('resting')
    time.atMs += 61 * minuteMs
    expect(await judged(5_000n)).toEqual(['chain-unreachable', false])
  })

  it('is one also where the block was a recent one when the head was seen last', async () => {
    let head = 10_000
    const node = await faulty(
      answering((method, params) => {
        if (method === 'eth_chainId') return '0x1'
        if (method === 'eth_call' && params[1] === 'latest') return '0x'
        if (method === 'eth_call') throw new NodeError(-32000, 'missing trie node 1f')
        const number = params[0] === 'latest' ? head : Number(params[0])
        return { number: hex(number), timestamp: hex(number), hash: `0x${number.toString(16).padStart(64, '0')}` }
      }),
    )
    const pool = openPool([node.url])
    const latest = { method: 'eth_getBlockByNumber', params: ['latest', false] }
    await pool.serve({}, never, endpoint => endpoint.call([latest], never))
    head = 10_500
    const codes = await Promise.all(
      [9_700n, 9_950n, 10_372n, 10_373n, 10_500n].map(async blockNumber => {
        const work = pool.serve({ blockNumber }, never, async endpoint => {
          const [answer] = await endpoint.call([{ method: 'eth_call', params: [{}, hex(blockNumber)] }], never)
          if (answer?.kind === 'error') throw endpoint.failure(answer.error)
        })
        return (await faultOf(work)).code
      }),
    )
    const [missing, passing] = ['chain-state-missing', 'chain-unreachable']
    expect(codes).toEqual([missing, missing, missing, passing, passing])
  })

  it.each(['missing trie node 1f', 'header not found'])(
    'nor that of the last blocks is not well: that may pass (%s)',
    async message => {
      const node = await faulty()
      const pool = openPool([node.url])
      node.misbehave({ kind: 'no-state', before: BigInt(echoHead) + 1n, message })
      const fault = await faultOf(readState(pool, BigInt(echoHead) - 10n))
      expect(fault.code).toBe('chain-unreachable')
      expect(fault.fix).toContain('in sync')
      expect(pool.health()[0]).not.toHaveProperty('servesStateFrom')
    },
  )
})

describe('an endpoint whose address is kept elsewhere', () => {
  function kept(name = 'BACKUP_RPC_URL') {
    const source = {
      name,
      url: undefined as string | undefined,
      looks: 0,
      read() {
        source.looks++
        if (source.url === undefined) throw new Fault('secret-missing', 'the variable is not set (t.yaml:5:12)')
        return { url: source.url }
      },
    }
    return source
  }

  it('cannot serve while there is none, says why, and stops no other', async () => {
    const [proxy, source, passed] = [await faulty(), kept(), [] as string[]]
    const pool = openPool([source, proxy.url], { passedOver: host => passed.push(host) })
    expect(await servedBy(pool)).toBe(proxy.host)
    const reason = 'cannot be asked: the variable is not set (t.yaml:5:12)'
    expect(pool.health()).toMatchObject([{ host: 'BACKUP_RPC_URL', state: 'no-address', reason }, { state: 'well' }])
    expect(passed).toEqual([])
  })

  it('is looked for each minute, and is preferred as the configuration says once it is there', async () => {
    const [time, proxy, other, source] = [handTime(), await faulty(), await faulty(), kept()]
    const pool = openPool([source, other.url], { time })
    expect(await servedBy(pool)).toBe(other.host)
    source.url = proxy.url
    time.atMs += minuteMs - 1
    expect(await servedBy(pool)).toBe(other.host)
    expect(source.looks).toBe(1)
    time.atMs += 1
    expect(await servedBy(pool)).toBe(proxy.host)
    expect(pool.health()[0]).toMatchObject({ host: proxy.host, state: 'well' })
    await servedBy(pool)
    expect(source.looks).toBe(2)
  })

  it('is asked at once by another address, or after a rest, when what is kept has changed', async () => {
    const [time, down, up, source] = [handTime(), await faulty(), await faulty(), kept()]
    const pool = openPool([source], { time })
    expect((await faultOf(servedBy(pool))).code).toBe('chain-unreachable')
    source.url = down.url
    pool.renew()
    expect(await servedBy(pool)).toBe(down.host)
    down.misbehave({ kind: 'status', status: 401 })
    await faultOf(servedBy(pool))
    expect(pool.health()[0]?.state).toBe('resting')
    pool.renew()
    expect(pool.health()[0], 'a header may be another').toMatchObject({ host: down.host, state: 'well' })
    source.url = up.url
    pool.renew()
    expect(await servedBy(pool)).toBe(up.host)
    source.url = undefined
    pool.renew()
    expect(await servedBy(pool), 'one that vanishes is still asked').toBe(up.host)
  })

  it('is named among those that failed, and decides nothing about them', async () => {
    const proxy = await faulty()
    const all = await faultOf(servedBy(openPool([kept('A'), kept('B')])))
    expect(all.code).toBe('chain-unreachable')
    expect(all.message).toContain('A cannot be asked: the variable is not set (t.yaml:5:12); B cannot be asked')
    expect(all.fix).toContain('put the address where the configuration says')
    proxy.misbehave({ kind: 'no-state', before: 9_000n })
    const some = await faultOf(readState(openPool([proxy.url, kept('B')]), 5n))
    expect(some.code).toBe('chain-state-missing')
    expect(some.message).toContain('B cannot be asked')
  })
})

describe('the health of endpoints', () => {
  it('says why one could not serve when it was asked last, also after its rest, until it serves', async () => {
    const time = handTime()
    const node = await faulty()
    const pool = openPool([node.url], { time })
    const trouble = () => pool.health()[0]
    await servedBy(pool)
    expect(trouble()).not.toHaveProperty('trouble')
    expect(trouble()).not.toHaveProperty('failuresInRow')
    node.misbehave({ kind: 'reset' })
    for (const failuresInRow of [1, 2]) {
      await faultOf(servedBy(pool))
      time.atMs += 10 * minuteMs
      expect(trouble()).toMatchObject({ state: 'well', trouble: 'unreachable', failuresInRow })
    }
    node.misbehave({ kind: 'no-state', before: 9_000n, message: 'missing trie node' })
    await faultOf(readState(pool, 5n))
    expect(trouble()).toMatchObject({ trouble: 'pruned' })
    node.misbehave()
    await servedBy(pool)
    expect(trouble()).not.toHaveProperty('trouble')
    const { answered = 0, unanswered = 0, error = 0 } = trouble()?.calls ?? {}
    expect({ isAnswered: answered >= 2, isUnanswered: unanswered >= 2, hasErrors: error >= 1 }).toEqual({
      isAnswered: true,
      isUnanswered: true,
      hasErrors: true,
    })
  })

  it('tells of head, limits and depth, and nothing of a URL', async () => {
    const key = 'k3y-0f-the-provider-4711'
    const proxy = await faulty(echoing, `/v2/${key}?token=${key}`)
    const url = proxy.url.replace('http://', `http://${key}:${key}@`)
    const passed: string[] = []
    const pool = openPool([{ url, callsPerSecondMax: 25, batchCallsMax: 100 }, 'wss://127.0.0.1:1/hidden-place'], {
      passedOver: (host, reason) => passed.push(host, reason),
    })
    await readState(pool, 500n)
    const [first] = pool.health()
    expect(first).toEqual({
      host: proxy.host,
      state: 'well',
      head: { number: BigInt(echoHead), timestampSeconds: echoHead },
      servesStateFrom: 500n,
      callsPerSecondMax: 25,
      batchCallsMax: 100,
      calls: { answered: 3, error: 0, limited: 0, unanswered: 0 },
    })
    proxy.misbehave({ kind: 'error', code: -32000, message: `key ${key} at ${url} is of no use` })
    const fault = await faultOf(
      pool.serve({}, never, async endpoint => {
        const [answer] = await endpoint.call([echo(1)], never)
        if (answer?.kind === 'error') throw endpoint.failure(answer.error)
      }),
    )
    for (const shown of [fault, fault.stack, pool.health(), passed]) {
      const text = inspect(shown, { depth: Number.POSITIVE_INFINITY, showHidden: true })
      expect(text).not.toContain(key)
      expect(text).not.toContain('hidden-place')
    }
  })
})

describe('a pool without some hosts', () => {
  it('asks the others alone, whose health both pools know', async () => {
    const [first, second, third] = [await faulty(), await faulty(), await faulty()]
    const pool = openPool([first.url, second.url, third.url])
    const others = pool.without(new Set([first.host]))
    if (!others) throw new Error('none is left')
    second.misbehave({ kind: 'reset' })
    expect(await servedBy(others)).toBe(third.host)
    expect(pool.health().map(({ state }) => state)).toEqual(['well', 'resting', 'well'])
    expect(first.requests).toBe(0)
    expect(pool.without(new Set([first.host, second.host, third.host]))).toBeUndefined()
  })

  it('says why a host is in quarantine', async () => {
    const [first, second] = [await faulty(), await faulty()]
    const pool = openPool([first.url, second.url])
    pool.quarantine(first.host, 'others disagree')
    expect(pool.health()).toMatchObject([{ state: 'quarantine', reason: 'others disagree' }, { state: 'well' }])
    expect(await servedBy(pool)).toBe(second.host)
  })
})
