import { expect, it } from 'vitest'
import { ProgressLine } from '../../../src/cli/backfill/run.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { Fault } from '../../../src/model/fault.ts'

const counts = () => ({ requests: 0, calls: {} })
const after = (hoursDone: number) =>
  ({ kind: 'went-on', progress: { hours: 100, hoursDone, runs: 100, runsDone: hoursDone } }) as const

/** Progress on a terminal that keeps its lines, and an outbox that answers once it may. */
function slow(isWatched: boolean) {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const asked: PromiseWithResolvers<number>[] = []
  const due = () => {
    const answer = Promise.withResolvers<number>()
    asked.push(answer)
    return answer.promise
  }
  const line = new ProgressLine(systemTime, counts, due, { isWatched, note: write, redraw: write })
  return { line, lines, asked }
}

it('shows the newest progress that came while the outbox was asked', async () => {
  const { line, lines, asked } = slow(false)
  for (const hours of [20, 40, 60]) line.show(after(hours))
  expect(asked).toHaveLength(1)
  asked[0]?.resolve(7)
  await line.end()
  expect(lines).toEqual([expect.stringMatching(/^60 % .*, 7 due$/)])
})

it('clears the line after the last progress was shown', async () => {
  const { line, lines, asked } = slow(true)
  line.show(after(50))
  const ended = line.end()
  asked[0]?.resolve(1)
  await ended
  expect(lines).toEqual([expect.stringMatching(/50 % .*, 1 due$/), ''])
})

it('shows the number of due metrics known before when the outbox does not answer', async () => {
  const { line, lines, asked } = slow(false)
  line.show(after(30))
  asked[0]?.resolve(12)
  await line.end()
  line.show(after(90))
  asked[1]?.reject(new Fault('outbox-unusable', 'another process has the lock'))
  await line.end()
  expect(lines[1]).toMatch(/^90 % .*, 12 due$/)
})
