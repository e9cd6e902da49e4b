import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { commandClock } from '../../src/intake/hour-clock.ts'
import { disagreementOf, HourReader } from '../../src/intake/hour-reader.ts'
import { type Collected, noPasts } from '../../src/intake/validate.ts'
import { Fault, faultRecord } from '../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../src/model/hour.ts'
import type { MetricSpec } from '../../src/model/metric.ts'
import type { RunOutcome } from '../../src/runner/runner.ts'
import { collector } from '../support/collectors.ts'
import { anHour } from '../support/metrics.ts'

const hash = (digit: string) => `0x${digit.repeat(64)}` as const
const pin = (chainId: number, digit = 'a') => ({
  chainId,
  block: { number: 7n, hash: hash(digit), timestampSeconds: 1 },
})

function outcome(readings: Readonly<Record<string, number>>, pins = [pin(1)]): RunOutcome {
  return { readings, failures: {}, pins }
}

type Answer = RunOutcome | Fault | ((hour: Hour) => RunOutcome | Fault)

interface Staged {
  /** Of the hosts a, b, c, … in the order of preference. */
  readonly answers: readonly Answer[]
  readonly agree?: number
  /** Ids of the chains that have several hosts. */
  readonly chainIds?: readonly number[]
  readonly metrics?: Readonly<Record<string, MetricSpec>>
  /** Value of each metric the hour before. */
  readonly before?: number
  /** Whether another run has taken the first one to the second host meanwhile. */
  readonly isMoved?: boolean
  /** Value of A that the first host gives while the memory of a list is wrong. */
  readonly remembered?: number
}

const jumping = { A: { maxJump: 10 }, B: {} } as const
const names = ['a.example', 'b.example', 'c.example', 'd.example']

/** Hosts of a chain: a run is served by the first that is not in quarantine, an opinion by the next. */
function stage({
  answers,
  agree = 1,
  chainIds = [1],
  metrics = jumping,
  before = 100,
  isMoved = false,
  remembered,
}: Staged) {
  const hosts = names.slice(0, answers.length)
  const asked: string[] = []
  const quarantined = new Map<string, string>()
  const forgotten: Hour[] = []
  const lines: { msg: string; level: number }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const memory = { isWrong: remembered !== undefined }
  const well = () => hosts.filter(host => !quarantined.has(host))
  const hostOf = (run: number) => (run === 0 ? (well()[0] ?? hosts[0]) : well()[run])
  const runnerOf = (run: number) => ({
    describe: async () => ({ kind: 'usable' as const, metrics, history: true }),
    stop: async () => {},
    doubtLists: async () => {
      const isForgotten = run === 0 && memory.isWrong
      if (isForgotten) memory.isWrong = false
      return isForgotten
    },
    collect: async (_: unknown, hour: Hour) => {
      const host = hostOf(run)
      if (host === undefined) throw new Fault('chain-unreachable', `c has no endpoint of another host than ${hosts}`)
      asked.push(host)
      if (run === 0 && memory.isWrong) return outcome({ A: remembered ?? 0, B: 2 })
      const given = answers[hosts.indexOf(host)]
      const answer = typeof given === 'function' ? given(hour) : given
      if (!answer || answer instanceof Fault) throw answer
      return answer
    },
  })
  const [runner, ...otherHosts] = hosts.map((_, run) => runnerOf(run))
  if (!runner) throw new Error('no host')
  const chains = chainIds.map(id => ({
    id,
    name: `c${id}`,
    agree,
    servedBy: (_: Hour, run: number) => hostOf(isMoved ? 1 : run),
    quarantine: (host: string, _: Hour, reason: string) => void quarantined.set(host, reason),
    forget: (hour: Hour) => void forgotten.push(hour),
  }))
  const reader = new HourReader({ runner, otherHosts, chains, clock: commandClock({ nowMs: () => anHour }), log })
  const pasts = {
    ...noPasts,
    pasts: async (keys: readonly { readonly hour: Hour }[]) =>
      keys.map(() => ({ previous: { hour: hourAfter(anHour, -1), value: before } })),
  }
  const run = { collector: collector('c'), description: { metrics, history: true }, hour: anHour }
  return {
    asked,
    lines,
    quarantined,
    forgotten,
    read: () => reader.collect(run, pasts),
    readHours: (count: number) =>
      reader.collectTogether(
        Array.from({ length: count }, (_, index) => ({ ...run, hour: hourAfter(anHour, index) })),
        pasts,
      ),
  }
}

const values = ({ acceptedValues }: Collected) =>
  acceptedValues.map(({ metric, hold }) => (hold ? 'held' : metric.value))
const holdsOf = ({ acceptedValues }: Collected) => acceptedValues.map(({ hold }) => hold?.reason)

describe('two runs', () => {
  const reverted = faultRecord(new Fault('chain-call-reverted', 'f reverted'))
  const pruned = faultRecord(new Fault('chain-state-missing', 'c: b.example has no such state'))

  it.each<[string, RunOutcome, RunOutcome, string[], number[]]>([
    ['agree', outcome({ A: 1, B: 2 }), outcome({ B: 2, A: 1 }), [], []],
    ['agree about zero', outcome({ A: 0 }), outcome({ A: -0 }), [], []],
    ['differ in the last bit', outcome({ A: 0.3 }), outcome({ A: 0.1 + 0.2 }), ['A'], []],
    ['do not differ where one has no value', outcome({ A: 1, C: 3 }), outcome({ A: 1, B: 2 }), [], []],
    ['differ where one reverts', outcome({ A: 1 }), { ...outcome({}), failures: { A: reverted } }, ['A'], []],
    [
      'differ where one reverts, the other way',
      { ...outcome({}), failures: { A: reverted } },
      outcome({ A: 1 }),
      ['A'],
      [],
    ],
    ['do not differ where one is pruned', outcome({ A: 1 }), { ...outcome({}), failures: { A: pruned } }, [], []],
    ['differ in their block', outcome({ A: 1 }), outcome({ A: 1 }, [pin(1, 'b')]), [], [1]],
    ['do not differ in a block that one did not read', outcome({}), outcome({}, []), [], []],
    ['agree about hashes in other letters', outcome({}, [pin(1, 'a')]), outcome({}, [pin(1, 'A')]), [], []],
  ])('%s', (_, one, other, labels, chainIds) => {
    expect(disagreementOf(one, other)).toEqual({ labels, chainIds })
  })
})

describe('of two hosts, over a list that was remembered wrongly', () => {
  const right = outcome({ A: 104, B: 2 })

  it('the list is read from its beginning before a host is blamed', async () => {
    const { read, asked, quarantined } = stage({ answers: [right, right, right], agree: 2, remembered: 103 })
    expect(values(await read())).toEqual([104, 2])
    expect(quarantined.size).toBe(0)
    expect(asked).toEqual(['a.example', 'b.example', 'a.example', 'b.example'])
  })

  it('a host that is wrong all the same is blamed', async () => {
    const { read, quarantined } = stage({
      answers: [outcome({ A: 105, B: 2 }), right, right],
      agree: 2,
      remembered: 103,
    })
    expect(values(await read())).toEqual([104, 2])
    expect([...quarantined.keys()]).toEqual(['a.example'])
  })
})

describe('of two hosts', () => {
  const kinds = ['value', 'other value', 'revert', 'transient', 'pruned', 'absent'] as const
  type Kind = (typeof kinds)[number]
  const numbers: Partial<Record<Kind, number>> = { value: 200, 'other value': 250 }
  const faults: Partial<Record<Kind, (host: string) => Fault>> = {
    revert: () => new Fault('chain-call-reverted', 'f reverted', { facts: { chain: 'c1' } }),
    transient: host =>
      new Fault('chain-unreachable', `c1: ${host} answers with status 429`, { facts: { chain: 'c1' } }),
    pruned: host => new Fault('chain-state-missing', `c1: ${host} has no such state`, { facts: { chain: 'c1' } }),
  }
  const ways = ['whole run', 'single label'] as const
  const cases = ways.flatMap(way =>
    [1, 2].flatMap(agree => kinds.flatMap(one => kinds.map(other => [one, other, agree, way] as const))),
  )

  function answerOf(kind: Kind, host: string, way: (typeof ways)[number]): RunOutcome | Fault {
    const [A, fault] = [numbers[kind], faults[kind]?.(host)]
    if (way === 'whole run') return fault ?? outcome(A === undefined ? {} : { A })
    const whole = outcome({ B: 2, ...(A !== undefined && { A }) })
    return fault ? { ...whole, failures: { A: faultRecord(fault) } } : whole
  }

  it.each(cases)('%s and %s, agree %i, of a %s', async (one, other, agree, way) => {
    const answers = [answerOf(one, 'a.example', way), answerOf(other, 'b.example', way)]
    const metrics = way === 'whole run' ? { A: jumping.A } : jumping
    const { read, quarantined } = stage({ answers, agree, metrics })
    const collected = await read()
    const [value, hold] = collected.acceptedValues
      .filter(({ metric }) => metric.id.endsWith('___A'))
      .flatMap(({ metric, hold: found }) => [metric.value, found?.reason])
    const isAnswer = (kind: Kind) => kind === 'revert' || numbers[kind] !== undefined
    const isContradicted = isAnswer(one) && isAnswer(other) && one !== other
    const isDoubted = agree === 1 && numbers[one] !== undefined
    // Who is wrong is known of a jump alone: that host is asked no more, and the other one's answer counts.
    expect([...quarantined.keys()]).toEqual(isDoubted && isContradicted ? ['a.example'] : [])
    const counts = isDoubted && isContradicted ? other : one
    const isSent = numbers[counts] !== undefined && (agree === 1 || one === other)
    expect(value).toBe(isSent ? numbers[counts] : undefined)
    if (isSent && one === other) expect(hold).toBeUndefined()
    if (isSent && one !== other)
      expect(hold).toMatch(/is a jump of .*not confirmed by another host: c.*b\.example|b\.example gives no value/)
    if (agree === 2 && isAnswer(one) && !isAnswer(other)) {
      expect(collected.fault?.permanence).toBe('transient')
      expect(collected.fault?.message).toMatch(/^A: 2 hosts must agree, and not as many endpoints answer: .*b\.example/)
    }
    if (agree === 2 && isContradicted) {
      expect(collected.fault).toMatchObject({ code: 'chain-disagreement', permanence: 'transient' })
      expect(collected.fault?.message).toMatch(
        /^A: endpoints of different hosts disagree about A: a\.example (gives|reverts).*, b\.example (gives|reverts)/,
      )
    }
    // The other label stands, unless its host is the one that is wrong.
    if (way === 'single label') expect(collected.acceptedValues.some(({ metric }) => metric.value === 2)).toBe(true)
  })
})

describe('a reading', () => {
  const jumped = outcome({ A: 200, B: 100 })
  const calm = outcome({ A: 101, B: 100 })

  it('asks no other host where nothing jumps, and none about bounds', async () => {
    const { read, asked } = stage({ answers: [calm, calm], metrics: { A: { maxJump: 10 }, B: { max: 99 } } })
    expect(values(await read())).toEqual([101, 'held'])
    expect(asked).toEqual(['a.example'])
  })

  it.each([
    ['that no chain gave', outcome({ A: 200, B: 100 }, [])],
    ['that come in part from a chain with one endpoint', outcome({ A: 200, B: 100 }, [pin(1), pin(9)])],
  ])('asks no other host about values %s', async (_, answer) => {
    const { read, asked } = stage({ answers: [answer, answer] })
    expect(values(await read())).toEqual(['held', 100])
    expect(asked).toEqual(['a.example'])
  })

  it('releases a jump that another host confirms, and says so', async () => {
    const { read, lines, quarantined } = stage({ answers: [jumped, outcome({ A: 200, B: 3 })] })
    expect(values(await read())).toEqual([200, 100])
    expect(lines).toMatchObject([
      { msg: 'a jump is confirmed by an endpoint of another host: it is sent', endpoint: 'a.example' },
    ])
    expect([...quarantined.keys()]).toEqual([])
  })

  it('does not hold what follows a jump that is confirmed, however many hours are read together', async () => {
    const step = (hour: Hour) => outcome({ A: hour >= hourAfter(anHour, 2) ? 200 : 100, B: 100 })
    const { readHours, asked } = stage({ answers: [step, step] })
    const hours = await readHours(5)
    expect(hours.flatMap(values)).not.toContain('held')
    expect(asked.filter(host => host === 'b.example')).toHaveLength(3)
  })

  it('puts the host into quarantine where another one answers otherwise, and reads the hour from that', async () => {
    const { read, lines, quarantined, asked } = stage({ answers: [jumped, calm] })
    const collected = await read()
    expect(values(collected)).toEqual([101, 100])
    expect(collected.contradicted).toEqual([expect.stringMatching(/^a\.example is contradicted: endpoints of /)])
    expect(asked).toEqual(['a.example', 'b.example', 'b.example'])
    const reason = quarantined.get('a.example')
    expect(reason).toMatch(/disagree about A: a\.example gives 200, b\.example gives 101$/)
    expect(lines).toMatchObject([{ endpoint: 'a.example', reason, collector: 'vault/c', chain: 'c1' }])
  })

  it('says of a host once that it is wrong, however many hours it served', async () => {
    const { readHours, lines } = stage({ answers: [jumped, calm] })
    expect((await readHours(4)).flatMap(values)).not.toContain('held')
    expect(lines).toMatchObject([{ endpoint: 'a.example', hours: 4 }])
  })

  it('leaves a jump to a person where it is not known whose endpoint is wrong', async () => {
    const both = [pin(1), pin(2)]
    const one = outcome({ A: 200, B: 100 }, both)
    const chainIds = [1, 2]
    const differing = stage({ answers: [one, outcome({ A: 1 }, both)], chainIds })
    expect(holdsOf(await differing.read())[0]).toContain('disagree about')
    expect(differing.quarantined.size).toBe(0)
    const blocks = stage({ answers: [one, outcome({ A: 1 }, [pin(1), pin(2, 'b')])], chainIds })
    await blocks.read()
    expect([...blocks.quarantined.values()]).toEqual([expect.stringContaining('the block of c2: a.example has 0xaaa')])
  })

  it('believes two of three hosts, and puts the third into quarantine, whichever it is', async () => {
    for (const agree of [1, 2]) {
      for (const [place, liar] of ['a.example', 'b.example', 'c.example'].entries()) {
        const answers = [0, 1, 2].map(each => (each === place ? outcome({ A: 900, B: 100 }) : jumped))
        const { read, quarantined, asked } = stage({ answers, agree })
        expect(values(await read())).toEqual([200, 100])
        // Where the first two agree, the third is not asked.
        expect([...quarantined.keys()]).toEqual(asked.includes(liar) ? [liar] : [])
      }
    }
  })

  it('asks as many hosts as must agree, at every hour', async () => {
    const three = stage({ answers: [calm, calm, calm, calm], agree: 3 })
    expect(values(await three.read())).toEqual([101, 100])
    expect(three.asked).toEqual(['a.example', 'b.example', 'c.example'])
    const two = await stage({ answers: [calm, calm, outcome({ A: 2, B: 100 })], agree: 3 }).read()
    expect(values(two)).toEqual([100])
    expect(two.fault?.message).toMatch(/A: a\.example gives 101, b\.example gives 101, c\.example gives 2$/)
    const down = new Fault('chain-behind', 'c1: b.example is behind', { fix: 'look at it', facts: { chain: 'c1' } })
    const fewer = await stage({ answers: [calm, down], agree: 2 }).read()
    expect(fewer).toMatchObject({ acceptedValues: [], fault: { code: 'chain-behind', fix: 'look at it' } })
  })

  it('counts a host once', async () => {
    const { read, quarantined } = stage({ answers: [calm, calm], agree: 2, isMoved: true })
    expect((await read()).fault?.message).toMatch(/not as many endpoints answer: no other host than b\.example answers/)
    expect(quarantined.size).toBe(0)
  })

  it('delivers nothing where the hosts have different blocks', async () => {
    const answers = [calm, outcome({ A: 101, B: 100 }, [pin(1, 'b')])]
    const { read, quarantined, forgotten } = stage({ answers, agree: 2 })
    expect(await read()).toMatchObject({ acceptedValues: [], fault: { code: 'chain-disagreement' } })
    expect(quarantined.size).toBe(0)
    expect(forgotten).toEqual([anHour])
  })

  it('asks them again about an hour in dispute, and about no other', async () => {
    const disputed = hourAfter(anHour, 1)
    const other = (hour: Hour) => (hour === disputed ? outcome({ A: 101, B: 101 }) : calm)
    const { readHours, forgotten } = stage({ answers: [calm, other], agree: 2 })
    expect((await readHours(3)).map(({ fault }) => fault?.code)).toEqual([undefined, 'chain-disagreement', undefined])
    expect(forgotten).toEqual([disputed])
  })
})
