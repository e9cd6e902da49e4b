import { pino } from 'pino'
import { expect, it } from 'vitest'
import { CatchUpLog } from '../../src/intake/intake.ts'
import { hourAfter, hourText } from '../../src/model/hour.ts'
import { anHour } from '../support/metrics.ts'

function started() {
  const lines: unknown[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const time = { atMs: 0, steadyMs: () => time.atMs }
  return { lines, time, catchUp: new CatchUpLog(log, time) }
}

it('a catch-up is a line a minute, and one at its end', () => {
  const { lines, time, catchUp } = started()
  // One hour a second, the newest first.
  for (let back = 1; back <= 100; back += 1) {
    time.atMs += 1_000
    catchUp.collected(hourAfter(anHour, -back), 4)
  }
  catchUp.ended()
  expect(lines).toEqual([
    {
      level: 30,
      hours: 61,
      metrics: 244,
      from: hourText(hourAfter(anHour, -61)),
      to: hourText(hourAfter(anHour, -1)),
      msg: 'catching up',
    },
    {
      level: 30,
      hours: 39,
      metrics: 156,
      from: hourText(hourAfter(anHour, -100)),
      to: hourText(hourAfter(anHour, -62)),
      msg: 'caught up',
    },
  ])
})

it('where nothing is caught up, nothing is logged', () => {
  const { lines, catchUp } = started()
  catchUp.ended()
  expect(lines).toEqual([])
})
