import { Command } from 'commander'
import { daemonNameOf, openExistingForListing } from '../../app/open-outbox.ts'
import { protocolCollectors, serviceAddress } from '../../config/config.ts'
import { definitionIdentities } from '../../fleet/agreement.ts'
import { Fault } from '../../model/fault.ts'
import { instantText } from '../../model/hour.ts'
import { type Identity, type StoredIdentity, serviceAt, serviceIdentity } from '../../outbox/contract/fleet-store.ts'
import { definitionsOf } from '../../runner/daemon/process-runner.ts'
import { type FleetState, readFleet, rolesText } from '../../status/fleet.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { type OutboxCall, onOutbox } from '../outbox-action.ts'
import { selectCollectors } from '../selection.ts'
import { printTable } from '../table.ts'
import { print } from '../terminal.ts'

type TakeOptions = ConfigOption & JsonOption

/** `fleet ls|take`: the daemons on one database, and what must be the same in all of them. */
export function fleetCommand(): Command {
  return new Command('fleet')
    .description('the daemons on one database, and what must be the same in all: list, take')
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(takeCommand())
}

function listCommand(): Command {
  return configuredCommand('ls')
    .description('daemons, their roles, what counts for all, and differences (also without ls)')
    .option('--json', 'print JSON')
    .action(
      onOutbox(async call => {
        const store = storeOf(call)
        const { context, outbox } = call
        const { config, time } = context
        const state = outbox && (await readFleet({ config, outbox, nowMs: time.nowMs() }))
        const counting = await store.identities([serviceIdentity, ...definedIn(call).map(({ name }) => name)])
        const identities = counting.map(identity =>
          stateOf(identity, [serviceAt(serviceAddress(config)), ...definedIn(call)]),
        )
        const isIncomplete = (state?.differences.length ?? 0) > 0
        return { json: () => ({ ...state, identities }), text: () => printFleet(state, identities), isIncomplete }
      }, openExistingForListing),
    )
}

/** An identity that counts for all, and whether the configuration here has the same. */
interface IdentityState {
  readonly name: string
  readonly since: string
  readonly by: string
  readonly isSameHere: boolean
}

function stateOf({ name, digest, sinceMs, by }: StoredIdentity, configured: readonly Identity[]): IdentityState {
  const isSameHere = configured.some(identity => identity.name === name && identity.digest.equals(digest))
  return { name, since: instantText(sinceMs), by, isSameHere }
}

function printFleet(state: FleetState | undefined, identities: readonly IdentityState[]): void {
  const daemons = state?.daemons ?? []
  if (daemons.length === 0) print('no daemon is there')
  else {
    const rows = daemons.map(({ name, version, lanes, isAway, seenAtMs, ...roles }) => [
      ...[name, version, `${instantText(seenAtMs)}${isAway ? ' (away)' : ''}`, lanes.join(' '), rolesText(roles)],
    ])
    printTable(['daemon', 'version', 'last seen', 'lanes', 'roles'], rows)
  }
  const rows = identities.map(({ name, since, by: writer, isSameHere }) => [
    name,
    since,
    writer,
    isSameHere ? 'the same' : 'differs',
  ])
  if (rows.length > 0) printTable(['counts for all', 'since', 'written by', 'here'], rows)
  for (const sentence of state?.differences ?? []) print(`  ${sentence}`)
}

function takeCommand(): Command {
  return new Command('take')
    .description('make what is configured here count for all daemons from now on')
    .addCommand(
      takingCommand(
        'service',
        'the service.url of this configuration counts: daemons with another deliver nothing',
      ).action(onOutbox<TakeOptions>(async call => taken(call, [serviceAt(serviceAddress(call.context.config))]))),
    )
    .addCommand(
      takingCommand('collector', 'the definition (code and options) of collectors in this configuration counts')
        .argument('<id...>', 'ids of collectors')
        .action(
          onOutbox<TakeOptions, [ids: readonly string[]]>(async (call, ids) => {
            const collectors = selectCollectors(call.context.config, ids)
            return taken(call, definitionIdentities(definitionsOf(collectors)))
          }),
        ),
    )
}

function takingCommand(name: string, description: string): Command {
  return configuredCommand(name).description(description).option('--json', 'print JSON')
}

async function taken(call: OutboxCall<TakeOptions>, identities: readonly Identity[]) {
  // The daemon with this configuration may change it later, as what it wrote itself.
  await storeOf(call).take(identities, daemonNameOf(call.context.config))
  const names = identities.map(({ name }) => name)
  return {
    json: () => ({ taken: names }),
    text: () => print(`counts for all daemons from now on, which see it within some seconds: ${names.join(', ')}`),
  }
}

function definedIn({ context }: OutboxCall): readonly Identity[] {
  return definitionIdentities(definitionsOf(protocolCollectors(context.config)))
}

/** @throws Fault `usage` where the outbox belongs to one daemon */
function storeOf({ outbox }: OutboxCall) {
  if (outbox?.sharedOutbox) return outbox.sharedOutbox.store
  throw new Fault('usage', 'the outbox is in a folder, which belongs to one daemon', {
    fix: 'a fleet has data: { postgres: … }: docs/fleet.md',
  })
}
