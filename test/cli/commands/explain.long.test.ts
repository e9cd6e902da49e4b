import { describe, expect, it } from 'vitest'
import { hourAfter, hourText, parseHour } from '../../../src/model/hour.ts'
import { command } from '../../support/command.ts'
import { chainStage, prunedBefore, regularSteps } from '../backfill-chain-stage.ts'
import { hourBack, stage } from '../stage.ts'

const id = 'p0___One'

interface Read {
  readonly chain: string
  readonly what: string
  readonly answer: string
  readonly decoded: string
  readonly request: { readonly method: string; readonly params: readonly unknown[] }
}

interface Explained {
  readonly id: string
  readonly hour: string
  readonly value: number
  readonly blocks: readonly { readonly number: number; readonly hash: string; readonly host: string }[]
  readonly provenance: { readonly code: string; readonly hosts: Readonly<Record<string, string>> }
  readonly present: { readonly code: string }
  readonly again: { readonly value: number; readonly isSame: boolean; readonly reads: readonly Read[] }
}

describe('explain', () => {
  it('says which block, host, code and options a value came from, and how to repeat each read', async () => {
    const here = await chainStage(regularSteps, 2, 1)
    const run = (...args: string[]) => command([...args, '--config', here.config], here.env)
    expect(await here.run(...here.range)).toMatchObject({ code: 0 })
    const { stdout, code } = await run('explain', id, '--json')
    expect(code).toBe(0)
    const found = JSON.parse(stdout) as Explained
    expect(found).toMatchObject({ id, hour: here.range.at(-1), state: 'delivered', attempts: 1, corrections: [] })
    const [block] = found.blocks
    const host = new URL(here.node.url).host
    expect([found.blocks.length, block?.host, found.provenance.hosts]).toEqual([1, host, { '1': host }])
    expect(found.provenance.code).toBe(found.present.code)
    expect(found.again).toMatchObject({ value: found.value, isSame: true })
    const read = found.again.reads.find(({ decoded }) => decoded === String(found.value * 1e6))
    const request = read?.request
    expect(request?.params[1], 'at the block of the hour').toBe(`0x${block?.number.toString(16)}`)
    const answer = await fetch(here.node.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    })
    expect(Number(BigInt(((await answer.json()) as { result: string }).result))).toBe(found.value * 1e6)
    const { stdout: text } = await run('explain', id, found.hour)
    expect(text).toMatch(new RegExp(`^${id} of ${found.hour}: ${found.value} TIDE, delivered\n`))
    expect(text).toMatch(new RegExp(`\nblock +${block?.number} of chain 1, ${block?.hash}, .*, served by ${host}\n`))
    expect(text).toContain(`\nread again now: ${found.value}, the same value\n`)
    expect(text).toContain(`: ${read?.what} = ${found.value * 1e6} (${read?.answer})\n   ${JSON.stringify(request)}\n`)
    expect(text, 'no address of a node').not.toContain(here.node.url)
  })

  it('says why there is no value, and what reading it now gives', async () => {
    const here = await chainStage(regularSteps, 1, 1)
    const run = (...args: string[]) => command([...args, '--config', here.config], here.env)
    expect(await here.run(...here.range)).toMatchObject({ code: 0 })
    here.instead = prunedBefore(Number.MAX_SAFE_INTEGER)
    const hour = hourText(hourAfter(parseHour(here.range[1] ?? ''), -5))
    const { stdout, code } = await run('explain', id, hour)
    expect(code).toBe(1)
    expect(stdout).toMatch(new RegExp(`^${id} of ${hour}: no value, the hour was never expected\n`))
    expect(stdout).toMatch(/\nnot read again: .*state/)
  })

  it('says what was corrected, that the code has changed since, and that it is another value now', async () => {
    const { run, give } = await stage({ metrics: { A: { unit: 'USD' } }, values: { A: 7 } })
    const hour = hourBack(1)
    await run('collect', '--hour', hour)
    give({ metrics: { A: { unit: 'USD' } }, values: { A: 8 } })
    await run('backfill', '--from', hour, '--to', hour, '--overwrite')
    give({ metrics: { A: { unit: 'USD' } }, values: { A: 9 } })
    const { stdout, code } = await run('explain', 'pool___A')
    expect(code).toBe(1)
    expect(stdout).toMatch(new RegExp(`^pool___A of ${hour}: 8 USD, delivered\n`))
    expect(stdout).toMatch(/\ncorrected +\S+Z, from 7 to 8\n/)
    expect(stdout).toMatch(/\ndelivered +\S+Z, the service accepted it\n/)
    expect(stdout).toContain('\nread again now: 9, not the stored 8\n')
  })

  it('shows what the service answered about a dead metric, and what a held one waits for', async () => {
    const given = (A: number) => ({ metrics: { A: { max: 10 }, B: {}, C: {} }, values: { A, B: 1, C: 2 } })
    const { run, service } = await stage(given(11))
    service.refuses = ({ id: of }) => (of === 'pool___B' ? 'label is reserved' : undefined)
    await run('collect', '--hour', hourBack(1))
    const dead = await run('explain', 'pool___B')
    expect(dead.stdout).toMatch(
      /\ndead +\S+Z after \d+ push(es)?: the service answered 400: label is reserved → tidegauge dead show --config \S+ pool___B/,
    )
    const held = await run('explain', 'pool___A')
    expect(held.stdout).toMatch(/\nheld +\S+Z: .*10.* → tidegauge held show --config \S+ pool___A/)
  })

  it('tells each failed attempt with its reason, also once the hour is delivered', async () => {
    const { run, give } = await stage({ metrics: { A: {} }, values: {} })
    const hour = hourBack(2)
    await run('collect', '--hour', hour)
    give({ metrics: { A: { max: 3 } }, values: { A: Number.NaN } })
    await run('collect', '--hour', hour)
    give({ metrics: { A: {} }, values: { A: 5 } })
    expect(await run('collect', '--hour', hour)).toMatchObject({ code: 0 })
    const { stdout } = await run('explain', 'pool___A', hour)
    expect(stdout).toMatch(/\ncollected +\S+Z, by pool\/given, after 3 attempts\n/)
    const attempts = stdout.split('\n').filter(line => line.startsWith('attempt '))
    expect(attempts).toEqual([
      expect.stringMatching(/^attempt +\S+Z, failed: \S.*return/),
      expect.stringMatching(/^attempt +\S+Z, failed: \S.*(NaN|number)/),
    ])
    const { failedAttempts } = JSON.parse((await run('explain', 'pool___A', hour, '--json')).stdout)
    expect(failedAttempts).toEqual([
      { at: expect.stringMatching(/Z$/), reason: expect.any(String) },
      { at: expect.stringMatching(/Z$/), reason: expect.any(String) },
    ])
  })

  it('says why an hour failed, and refuses an unknown metric and an hour that has not begun', async () => {
    const { run, give } = await stage({ metrics: { A: {} }, values: { A: 1 } })
    expect(await run('explain', 'pool___A')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nothing was ever collected'),
    })
    give({ metrics: { A: {} }, values: {} })
    await run('collect', '--hour', hourBack(1))
    const { stdout, code } = await run('explain', 'pool___A', hourBack(1))
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^pool___A of \S+: no value, the hour is not collected yet\n\ncollector +pool\/given\nwhy not +\S.*\n/,
    )
    expect(stdout).toMatch(/\nnot read again: \S/)
    expect(await run('explain', 'pool___C')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no metric is called "pool___C"'),
    })
    expect(await run('explain', 'pool___A', hourBack(-2))).toMatchObject({ code: 2 })
  })
})
