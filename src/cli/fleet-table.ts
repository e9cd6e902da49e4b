import { rolesText } from '../status/fleet.ts'
import type { StatusJson } from '../status/json.ts'
import { printTable } from './table.ts'
import { print } from './terminal.ts'

/** Prints the daemons of a fleet, and what a person should see to. */
export function printFleet({ daemons, idleLanes, differences }: NonNullable<StatusJson['fleet']>): void {
  print('')
  if (daemons.length === 0) print('fleet: no daemon is there')
  else {
    printTable(
      ['daemon', 'version', 'configuration', 'last seen', 'lanes', 'roles'],
      daemons.map(({ name, version, configuration, lanes, seenAt, isAway, ...roles }) => [
        name,
        version,
        configuration,
        `${seenAt}${isAway ? ' (away)' : ''}`,
        lanes.join(' '),
        rolesText(roles),
      ]),
    )
  }
  for (const line of [...idleLanes.map(({ reason }) => reason), ...differences]) print(`  ${line}`)
}
