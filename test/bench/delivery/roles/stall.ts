/**
 * Stores and delivers continuously, for the benchmark: `node stall.ts FILE URL HOURS`. Prints `{ p99Ms, maxMs }`: how
 * long the event loop stood still, in 99 of 100 looks at most, and at most.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { clientOf, deliverAll, deliveryOf } from '../deliver.ts'
import { openOutbox, storeHour } from '../store.ts'

export interface Stalled {
  readonly p99Ms: number
  readonly maxMs: number
}

const resolutionMs = 1
/** Until the code is compiled. */
const warmUpHours = 20

const [file = '', url = '', hours = '0'] = process.argv.slice(2)
const hoursAll = Number(hours)

const outbox = openOutbox(file, hoursAll)
const client = clientOf(url)
const delivery = deliveryOf(outbox, client, 'bench-key')
const delay = monitorEventLoopDelay({ resolution: resolutionMs })
let stored = 0

async function store(): Promise<void> {
  for (; stored < hoursAll; stored += 1) {
    if (stored === warmUpHours) delay.reset()
    await storeHour(outbox, stored)
    await turn()
  }
}

async function deliver(): Promise<void> {
  while (stored < hoursAll) {
    await delivery.flush('asked', new AbortController().signal)
    await turn()
  }
}

delay.enable()
await Promise.all([store(), deliver()])
await deliverAll(outbox, delivery)
delay.disable()
const [p99Ms, maxMs] = [delay.percentile(99), delay.max].map(ns => ns / 1e6 - resolutionMs)
process.stdout.write(`${JSON.stringify({ p99Ms, maxMs })}\n`)
await client.close()
outbox.close()
