import type { ProtocolConfig } from '../config/config.ts'
import { batchesOf } from '../model/batch.ts'
import { batchMetricsMax } from '../model/limits.ts'
import type { Verdict } from '../model/verdict.ts'
import type { FlushPorts } from './ports.ts'
import type { Part, Worklist } from './worklist.ts'

type ProtocolRefused = Extract<Verdict, { kind: 'protocol-refused' }>

/** Protocols that the service does not know, or that another key owns: registered where that is wanted, else isolated. */
export class ProtocolRefusals {
  readonly #ports: FlushPorts
  readonly #worklist: Worklist
  readonly #registrations = new Map<string, Promise<string | undefined>>()
  readonly #sentAfterRegistration = new WeakSet<Part['batch']>()

  constructor(ports: FlushPorts, worklist: Worklist) {
    this.#ports = ports
    this.#worklist = worklist
  }

  /** A part was refused for a protocol in it. */
  async refused(part: Part, { status, reason }: ProtocolRefused): Promise<void> {
    const { batch } = part
    const byProtocol = [...Map.groupBy(batch, ({ protocolId }) => protocolId).values()]
    if (byProtocol.length > 1) {
      const parts = byProtocol.flatMap(own => batchesOf(own, batchMetricsMax)).map(own => ({ ...part, batch: own }))
      return this.#worklist.putFirst(parts)
    }
    const protocol = this.#ports.protocols.find(({ id }) => id === batch[0].protocolId)
    if (!protocol) return
    const mayRegister = status === 404 && protocol.register && !this.#sentAfterRegistration.has(batch)
    const refusal = mayRegister ? await this.#register(protocol) : reason
    if (refusal === undefined) {
      this.#sentAfterRegistration.add(batch)
      this.#worklist.putFirst([part])
    } else {
      const isNews = part.isProbe || !this.#ports.isInQuarantine(protocol.id)
      if (isNews) this.#ports.isolated(protocol, status, refusal)
      this.#worklist.leaveOut(({ protocolId }) => protocolId === protocol.id)
    }
  }

  /** Once a flush and protocol, however many pushes find it unknown at the same time. */
  #register(protocol: ProtocolConfig): Promise<string | undefined> {
    const running = this.#registrations.get(protocol.id) ?? this.#ports.register(protocol)
    this.#registrations.set(protocol.id, running)
    return running
  }
}
