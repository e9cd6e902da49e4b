import { type FleetState, rolesText } from '../status/fleet.ts'
import { printTable } from './table.ts'
import { print } from './terminal.ts'

/** Prints the daemons of a fleet, and what a person should see to. */
export function printFleet({ daemons, idleLanes, differences }: FleetState): void {
  print('')
  if (daemons.length === 0) print('fleet: no daemon is there')
  else {
    printTable(
      ['daemon', 'version', 'configuration', 'last seen', 'lanes', 'roles'],
      daemons.map(({ name, version, configuration, lanes, seenAtMs, isAway, ...roles }) => [
        name,
        version,
        configuration,
        `${new Date(seenAtMs).toISOString()}${isAway ? ' (away)' : ''}`,
        lanes.join(' '),
        rolesText(roles),
      ]),
    )
  }
  for (const line of [...idleLanes.map(({ reason }) => reason), ...differences]) print(`  ${line}`)
}
