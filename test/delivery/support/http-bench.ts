import { onTestFinished } from 'vitest'
import { serviceClient } from '../../../src/edge/service-client.ts'
import { DeliveryBench, type DeliveryBenchOptions, startMs } from './delivery-bench.ts'
import { HttpService } from './http-service.ts'
import { ScriptedTime, WrongTime } from './scripted-time.ts'

/** Deliveries on a real outbox, with the real client, to a service over real HTTP; the time is virtual. */
export interface HttpBench {
  readonly bench: DeliveryBench
  readonly service: HttpService
  /** The true time, which is the service's. */
  readonly time: ScriptedTime
  /** This machine's. */
  readonly machine: WrongTime
}

/** @param options what is not as usual */
export async function httpBench(
  options: Partial<Omit<DeliveryBenchOptions, 'client' | 'time'>> & { readonly aheadMs?: number } = {},
): Promise<HttpBench> {
  const time = new ScriptedTime(startMs)
  const machine = new WrongTime(time)
  machine.aheadMs = options.aheadMs ?? 0
  const service = await HttpService.start(() => time.nowMs())
  const client = serviceClient({ url: service.url, timeoutMs: 600_000, connections: 4, time: machine })
  onTestFinished(() => client.close())
  return { bench: new DeliveryBench({ ...options, client, time: machine }), service, time, machine }
}
