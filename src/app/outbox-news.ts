import { faultLine } from '../model/fault.ts'
import { hourText } from '../model/hour.ts'
import type { UpkeepNews } from '../outbox/contract/upkeep.ts'
import type { Opened } from '../outbox/open.ts'
import type { Log } from '../telemetry/log.ts'

/** Logs the result of a salvage: what was saved, what was lost, and where the damaged file is. */
export function logSalvage(log: Log, { reason, aside, metrics, lost }: NonNullable<Opened['salvaged']>): void {
  log.error({ reason, aside, metrics }, 'the outbox was damaged: everything readable is in a new one')
  for (const { collector, hours, oldest, newest } of lost) {
    const facts = { collector, hours, oldest: hourText(oldest), newest: hourText(newest) }
    log.error(facts, 'hours with lost values: they are due again')
  }
}

const logLarge = 'the log of the outbox grows: a process keeps reading the outbox'

/** Logs an event of upkeep. */
export function logUpkeep(log: Log, news: UpkeepNews): void {
  switch (news.kind) {
    case 'disk-full':
      log.error({ reason: news.sentence }, 'the disk is full: collecting waits')
      return
    case 'room-again':
      log.info('there is room on the disk again: collecting goes on')
      return
    case 'locked':
      log.warn({ reason: news.sentence }, 'the outbox cannot be written for now: nothing is lost')
      return
    case 'unlocked':
      log.info('the outbox is written again')
      return
    case 'role-renewed':
      log.warn('the lock file was removed from the data folder: it is taken again')
      return
    case 'role-lost':
      log.error('the lock file was removed from the data folder, and another tidegauge has the lock now')
      return
    case 'log-large':
      log.warn(
        { bytes: news.bytes, fix: 'end the program that has it open: a copy, a viewer, a command that hangs' },
        logLarge,
      )
      return
    case 'log-trimmed':
      log.info('the log of the outbox is small again')
      return
    case 'failed':
      log.error({ fault: faultLine(news.error) }, 'the upkeep of the outbox failed: retrying')
      return
  }
}
