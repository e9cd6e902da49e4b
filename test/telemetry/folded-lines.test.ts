import { describe, expect, it } from 'vitest'
import { FoldedLines } from '../../src/telemetry/log.ts'

const startMs = Date.parse('2026-11-23T09:00:00.000Z')

function log() {
  const written: Record<string, unknown>[] = []
  const lines = new FoldedLines(line => written.push(JSON.parse(line)))
  const take = (seconds: number, msg: string, level = 'warn') => {
    const time = new Date(startMs + seconds * 1_000).toISOString()
    lines.take(`{"level":"${level}","time":"${time}","endpoint":"a","msg":"${msg}"}\n`)
  }
  const said = () => written.map(({ msg, repeated }) => (repeated === undefined ? msg : `${msg} +${repeated}`))
  return { lines, written, take, said }
}

describe('folded lines', () => {
  it('writes an equal warning once a minute, and how often it came meanwhile', () => {
    const { take, said, written } = log()
    for (let seconds = 0; seconds <= 125; seconds += 5) take(seconds, 'failed')
    expect(said()).toEqual(['failed', 'failed +11', 'failed +11'])
    expect(written[1]).toEqual({
      level: 'warn',
      time: '2026-11-23T09:01:00.000Z',
      repeated: 11,
      endpoint: 'a',
      msg: 'failed',
    })
  })

  it('folds the attempts at one thing, and shows the last of them', () => {
    const { lines, written } = log()
    for (const attempt of [1, 2, 3, 4]) {
      const time = new Date(startMs + attempt * 20_000).toISOString()
      lines.take(`{"level":"warn","time":"${time}","attempt":${attempt},"nextAttempt":"${time}","msg":"failed"}\n`)
    }
    expect(written).toMatchObject([{ attempt: 1 }, { attempt: 4, repeated: 2, msg: 'failed' }])
    const later = new Date(startMs + 200_000).toISOString()
    lines.take(`{"level":"warn","time":"${later}","attempt":1,"msg":"other"}\n`)
    expect(written.at(-1)).toMatchObject({ attempt: 1, msg: 'other' })
  })

  it('folds lines that alternate, and tells what was left out with the next other line', () => {
    const { take, said } = log()
    for (let seconds = 0; seconds < 20; seconds += 1) take(seconds, seconds % 2 === 0 ? 'a' : 'b')
    expect(said()).toEqual(['a', 'b'])
    take(90, 'c', 'error')
    expect(said()).toEqual(['a', 'b', 'a +9', 'b +9', 'c'])
    take(91, 'a')
    expect(said().at(-1)).toBe('a')
  })

  it('folds nothing that is news, and nothing that it does not understand', () => {
    const { take, said, lines } = log()
    for (let times = 0; times < 3; times += 1) take(0, 'delivered', 'info')
    expect(said()).toEqual(['delivered', 'delivered', 'delivered'])
    for (let times = 0; times < 2; times += 1) lines.take('{"msg":"other"}\n')
    expect(said().slice(3)).toEqual(['other', 'other'])
  })

  it('does not stay silent after the clock was set back', () => {
    const { take, said } = log()
    take(3_600, 'failed')
    take(0, 'failed')
    take(30, 'failed')
    take(70, 'failed')
    expect(said()).toEqual(['failed', 'failed', 'failed +1'])
  })

  it('remembers a bounded number of lines', () => {
    const { take, said } = log()
    for (let number = 0; number < 1_000; number += 1) take(0, `failed ${number}`)
    expect(said()).toHaveLength(1_000)
    take(1, 'failed 0')
    expect(said()).toHaveLength(1_001)
  })
})
