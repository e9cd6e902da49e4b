import { type Connection, connect } from '../../app/connection.ts'
import type { AppContext } from '../../app/context.ts'
import { deliveriesTo } from '../../app/delivering.ts'
import type { Delivery } from '../../delivery/delivery.ts'
import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { batchMetricsMax, pollMs } from '../../model/limits.ts'
import type { OutboxHealth } from '../../outbox/contract/health.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { Role } from '../../outbox/contract/role.ts'
import { untilDaemon } from '../daemon-role.ts'
import { type Deliverer, deliverNow, handedOver, roleOrDeliverer } from '../deliver-now.ts'
import { note } from '../terminal.ts'

/** Delivery of the hours that a command collects. */
export interface BackfillDelivery {
  /**
   * `own`: this process pushes while it collects. Otherwise another one has the role: a `command`, or a `daemon`, also one
   * started meanwhile.
   */
  readonly by: 'own' | Deliverer['by']
  /** Pushes of this process so far, attempts included. */
  readonly pushes: number
  /** The delivery role; absent where another process had it from the start. */
  readonly role?: Role
  /** Pushes the rest, or waits a while for the daemon to push it. */
  finish(): Promise<void>
}

/** Takes the delivery role, or finds which process has it; what it opens is closed with the stack. */
export async function startDelivery(
  context: AppContext,
  outbox: Outbox,
  stack: AsyncDisposableStack,
): Promise<BackfillDelivery> {
  const role = await roleOrDeliverer(context)
  if (!('release' in role)) {
    note(role.sentence)
    let by: BackfillDelivery['by'] = role.by
    return {
      get by() {
        return by
      },
      pushes: 0,
      async finish() {
        by = await deliverNow(context, outbox, role.sentence)
      },
    }
  }
  stack.defer(() => role.release())
  await outbox.health.keepReserve()
  return await startOwn(role, context, outbox, await connect(context, stack), stack)
}

/**
 * Pushes only full batches while hours are being collected: a push of one metric costs the service as much as one of a
 * hundred.
 */
async function startOwn(
  role: Role,
  context: AppContext,
  outbox: Outbox,
  connection: Connection,
  stack: AsyncDisposableStack,
): Promise<BackfillDelivery> {
  let pushes = 0
  const { client } = connection
  const counting: typeof client = {
    ...client,
    push: (...push) => {
      pushes += 1
      return client.push(...push)
    },
  }
  let metricsMin = batchMetricsMax
  const deliveries = await deliveriesTo({ ...connection, client: counting }, outbox.delivery, context, () => metricsMin)
  const [finishing, stopping] = [new AbortController(), new AbortController()]
  const pushing = deliveries.map(delivery =>
    pushUntil(delivery, finishing.signal, stopping.signal, outbox.health, context.time),
  )
  const end = async () => {
    stopping.abort(stopped)
    finishing.abort(stopped)
    await Promise.all(pushing)
  }
  const [watching, watched] = [new AbortController(), { isHandedOver: false }]
  const handingOver = untilDaemon(context, watching.signal).then(async isThere => {
    if (!isThere) return
    watched.isHandedOver = true
    await end()
    role.release()
    note(handedOver)
  })
  stack.defer(async () => {
    watching.abort(stopped)
    await end()
    await handingOver
  })
  return {
    role,
    get by() {
      return watched.isHandedOver ? 'daemon' : 'own'
    },
    get pushes() {
      return pushes
    },
    async finish() {
      finishing.abort(stopped)
      await Promise.all(pushing)
      metricsMin = 1
      if (watched.isHandedOver) return void (await deliverNow(context, outbox))
      await Promise.all(deliveries.map(delivery => delivery.flush('asked', stopping.signal)))
      if (watched.isHandedOver) return void (await deliverNow(context, outbox))
      const { waiting } = await outbox.operators.backlog()
      for (const reason of waiting) note(`delivery to the service waits: ${reason}`)
    },
  }
}

const stopped = new Fault('stopped', 'the command has ended')

/** Flushes repeatedly; a running flush is not aborted at the end. Never rejects. */
async function pushUntil(
  delivery: Delivery,
  finishing: AbortSignal,
  stopping: AbortSignal,
  health: OutboxHealth,
  time: Time,
): Promise<void> {
  while (!finishing.aborted) {
    await delivery.flush('due', stopping).catch(error => health.recover(error))
    await time.sleep(pollMs, finishing).catch(() => {})
  }
}
