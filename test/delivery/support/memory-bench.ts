import type { FlushOccasion } from '../../../src/delivery/gate.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { DeliveryBench, type DeliveryBenchOptions, startMs } from './delivery-bench.ts'
import { MemoryService } from './memory-service.ts'

/** Deliveries on a real outbox to a service without a network, whose clock is known, in virtual time. */
export class MemoryBench extends DeliveryBench {
  readonly service: MemoryService
  readonly time: VirtualTime

  constructor(options: Partial<Omit<DeliveryBenchOptions, 'client' | 'time'>> = {}) {
    const service = new MemoryService()
    const time = new VirtualTime(startMs)
    super({ isClockKnown: true, ...options, client: service, time })
    this.service = service
    this.time = time
  }

  /** @returns how many pushes it took */
  async pushes(occasion: FlushOccasion = 'due'): Promise<number> {
    const before = this.service.pushes.length
    await this.flush(occasion)
    return this.service.pushes.length - before
  }
}
