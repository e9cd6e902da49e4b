import type { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { statusAddress } from '../../config/addresses.ts'
import type { PlacedMistake } from '../../config/mistakes.ts'
import { Fault, faultLine } from '../../model/fault.ts'
import { checkOutboxFile } from '../../outbox/data-check.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { seenDaemon } from '../daemon-answer.ts'
import {
  configFindings,
  daemonFindings,
  dataFindings,
  egressFindings,
  type Finding,
  failed,
  mistakeFindings,
  type Outcome,
  ok,
  warning,
} from '../doctor/here.ts'
import { listFindings } from '../doctor/lists.ts'
import { receiverFindings } from '../doctor/receivers.ts'
import { chainFindings, eventFindings, serviceFindings, sourceFindings } from '../doctor/sources.ts'
import { endIncomplete } from '../exit.ts'
import { openContextDespite } from '../open-context.ts'
import { counted, print, printJson } from '../terminal.ts'

const marks: Readonly<Record<Outcome, string>> = { ok: '✔', warning: '!', failed: '✖' }

/** `doctor`: asks everything that the daemon depends on. Ends with 1 for what stops delivery or the next hour. */
export function doctorCommand(): Command {
  return configuredCommand('doctor')
    .description(
      'asks the service, the nodes, off-chain sources, the disk, receivers and the daemon, and says what to do',
    )
    .option('--json', 'print JSON')
    .action(async (options: ConfigOption & JsonOption) => {
      const { context, mistakes } = openContextDespite(options.config)
      const allFindings: Finding[] = []
      const pendingFindings = context ? examinations(context, mistakes) : [unreadable(options.config, mistakes)]
      // A question that fails before its turn is reported at its turn.
      for (const findings of pendingFindings) findings.catch(() => {})
      for (const findings of pendingFindings) {
        for (const finding of await findings) {
          allFindings.push(finding)
          if (!options.json) print(lineOf(finding))
        }
      }
      const isWell = allFindings.every(({ outcome }) => outcome !== 'failed')
      if (options.json) printJson({ ok: isWell, findings: allFindings })
      else printSum(allFindings)
      if (!isWell) endIncomplete()
    })
}

/** The mistakes of a file that says too little to ask anything else, and the daemon at its address, if one runs there. */
async function unreadable(file: string, mistakes: readonly PlacedMistake[]): Promise<readonly Finding[]> {
  const server = statusAddress(file)
  const seen = server && (await seenDaemon(server))
  if (seen?.kind !== 'at-work') return mistakeFindings(mistakes)
  const { configuration, ready } = seen.status
  const state = ready.ok ? 'nothing is late' : `it is not ready: ${ready.reasons.join(' ')}`
  const found = `one runs on the configuration of ${configuration.inForceSince}, and ${state}`
  return [...mistakeFindings(mistakes), ready.ok ? ok('daemon', found) : warning('daemon', found)]
}

/**
 * All questions are asked at once, and printed in this order.
 *
 * @param mistakes in parts of the file that the context lacks
 */
function examinations(context: AppContext, mistakes: readonly PlacedMistake[]): Promise<readonly Finding[]>[] {
  // Before anything opens it, which would save what can be read of a damaged one.
  const { data } = context.config
  const outbox = data.kind === 'folder' ? checkOutboxFile(data.folder) : Promise.resolve(undefined)
  const configuration = examined('configuration', configFindings(context, mistakes))
  const service = examined('service', serviceFindings(context, outbox))
  return [
    configuration,
    Promise.resolve(egressFindings(context)),
    service,
    examined('chains', chainFindings(context, service.then(isClockWrong))),
    examined('events', eventFindings(context)),
    examined('sources', sourceFindings(context)),
    examined('lists', listFindings(context)),
    examined('disk', dataFindings(context, outbox)),
    examined('receivers', receiverFindings(context)),
    examined('daemon', daemonFindings(context, configuration)),
  ]
}

function isClockWrong(ofService: readonly Finding[]): boolean {
  return ofService.some(({ subject, outcome }) => subject === 'clock' && outcome === 'failed')
}

/** A question that could not be asked is a finding, too. */
async function examined(subject: string, findings: Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await findings
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [failed(subject, faultLine(error))]
  }
}

function lineOf({ outcome, subject, found, fix }: Finding): string {
  return `${marks[outcome]} ${subject}: ${found}${fix === undefined ? '' : ` → ${fix}`}`
}

function printSum(found: readonly Finding[]): void {
  const [stops, warnings] = (['failed', 'warning'] as const).map(
    outcome => found.filter(finding => finding.outcome === outcome).length,
  )
  print('')
  if (stops)
    print(`${counted(stops, 'finding')} ${stops === 1 ? 'stops' : 'stop'} delivery or the next hour: see ✖ above`)
  else
    print(`nothing stops delivery or the next hour${warnings ? `; ${counted(warnings, 'warning')}: see ! above` : ''}`)
}
