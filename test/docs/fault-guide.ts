import type { FaultCode } from '../../src/model/fault.ts'

/** Cause and cure of a failure, for `docs/errors.md`. */
export interface FaultGuide {
  readonly cause: string
  readonly cure: string
}

/** Every fault code; a new one is a type error until it is explained here. */
export const faultGuide: Readonly<Record<FaultCode, FaultGuide>> = {
  usage: {
    cause: 'The command line cannot be followed: an unknown name, an invalid hour, a file that exists already.',
    cure: 'The message says which word; `tidegauge COMMAND --help` lists the options. Nothing was changed.',
  },
  config: {
    cause: 'The configuration has mistakes. Each is listed with file, line and column.',
    cure: '`tidegauge check` finds all of them at once. A running daemon goes on with the configuration it has.',
  },
  'secret-missing': {
    cause: 'The file or variable that holds a key or an address is missing, empty or unreadable.',
    cure: 'Put the secret there, readable by the daemon’s user. The daemon reads it again.',
  },
  'outbox-held': {
    cause: 'Another process collects or delivers from this outbox; the message has its pid.',
    cure: 'Let it do the work, or stop it first. `run --standby` waits for it.',
  },
  'address-unusable': {
    cause: 'The status server cannot listen at `status.listen`: the port is taken, or the machine has no such address.',
    cure: 'Stop the other program, or choose another port.',
  },
  'outbox-unusable': {
    cause: 'The file of the outbox cannot be opened or written: rights, or a file of another version or program.',
    cure: 'The message says which; `tidegauge doctor` looks again. The daemon retries.',
  },
  'outbox-moved': {
    cause: 'The file of the outbox was moved, replaced or deleted while it was open.',
    cure: 'Put it back, or run the command again. Nothing was stored in the wrong file.',
  },
  'outbox-corrupt': {
    cause: 'The file of the outbox is damaged, and the process that holds it has to save what can be read.',
    cure: 'Wait for that process, or restart it. The damaged file is kept next to the new one.',
  },
  'disk-full': {
    cause: 'There is no room for new values. What is due is still delivered, from a reserve kept for that.',
    cure: 'Free some room: collecting continues, and missed hours are caught up.',
  },
  'database-read-only': {
    cause:
      'The database of the outbox takes no writes: its PostgreSQL is a standby, or has `default_transaction_read_only` on, or its file lies in a file system that is read-only.',
    cure: 'Give the address of the writer, or let this one be written (`mount -o remount,rw`): collecting continues, and missed hours are caught up.',
  },
  'database-unreachable': {
    cause:
      'The PostgreSQL of the outbox does not answer, has no free connection, ended the connection, or a statement waits for a lock of another session.',
    cure: 'Let the server run and be reached from this machine; `pg_stat_activity` and `pg_locks` say which session has a lock. The daemon goes on with it; nothing is lost.',
  },
  'database-unusable': {
    cause: 'The PostgreSQL of the outbox refuses the user, or gives it too few rights.',
    cure: 'The message says which, and has the statement or the setting that cures it.',
  },
  'database-version': {
    cause: 'The PostgreSQL of the outbox is older than 13, or its tables are those of another version of tidegauge.',
    cure: 'Install the version that the other daemons run, or use a newer server; the daemon ends with 78 until then. One that runs while a newer version changes the tables collects and delivers nothing more until it is updated, too.',
  },
  'database-failed': {
    cause: 'The PostgreSQL of the outbox refused a statement; the message has its words.',
    cure: 'Look into the server’s log. The daemon tries again.',
  },
  'hour-lost': {
    cause: 'The values of an hour lay in a damaged part of the outbox.',
    cure: 'Nothing to do where the past can be read: the hour is due again.',
  },
  'lease-lost': {
    cause:
      'This daemon was paused, or cut off from the database, and another daemon of the fleet delivers, or checks blocks again, now.',
    cure: 'Nothing to do: what was not stored is done again by the other daemon.',
  },
  'hour-taken-over': {
    cause:
      'This daemon was paused, or cut off from the database, and another daemon of the fleet collects the hour now.',
    cure: 'Nothing to do: the other daemon stores the values.',
  },
  'collector-unusable': {
    cause: 'The collector’s file is missing, cannot be loaded, or does not export a collector.',
    cure: 'The message has the file and the place. A mended file is noticed within seconds.',
  },
  'collector-threw': {
    cause: 'The collector threw an error of its own.',
    cure: 'The message is the collector’s. `collect --dry-run --only ID` runs it again; the hour is retried.',
  },
  'collector-output': {
    cause: 'The collector returned something else than its declared metrics: not a number, an unknown label.',
    cure: 'Mend the collector, or declare the label.',
  },
  'collector-hung': {
    cause: 'The collector did not answer within its deadline, blocked its event loop, or ended its process.',
    cure: 'Look for a request without time limit or an endless loop; raise `deadline` if the work is that long.',
  },
  'machine-busy': {
    cause: 'The machine gave the process of a collector so little of a processor that it could not start or answer.',
    cure: 'End what else needs the processors, or give the container more (`cpus`, `resources.limits`); the hour is retried.',
  },
  'collector-unrecorded': {
    cause: 'In a test: the collector reads something that is not in its recording.',
    cure: 'Record it again, if the change is meant.',
  },
  'input-missing': {
    cause:
      'A derived value needs a value that is not stored, is held or is dead; the message names the first such input.',
    cure: 'The command of the message: `tidegauge explain` of the input says why, `tidegauge backfill` brings the hours that lack. Once it is stored or released, the derived value follows.',
  },
  'window-incomplete': {
    cause:
      'A derived value is over hours of which some were not collected: before its input began, or in a gap; or over hours in two units. The daemon stays ready; `status` warns.',
    cure: 'Nothing: it follows as soon as the window is full. `tidegauge backfill --from H` with the hour of the message brings the missing hours at once.',
  },
  'hour-passed': {
    cause: 'The collector reads only the present, and the hour has passed.',
    cure: 'The hour is a gap. A collector can have `history: true` where all that it reads is as of a block or an hour: what it reads of the present would be stored as the past.',
  },
  'hour-too-old': {
    cause: 'The hour lies further back than `collect.catchUp`.',
    cure: '`tidegauge backfill` for that range, or a longer `catchUp`.',
  },
  'machine-forgotten': {
    cause: 'The collector belongs to one machine of a fleet, and no daemon of that name was there for a day.',
    cure: 'Nothing to do where the machine is gone for good: `host` goes to another machine. Where it comes back, `tidegauge backfill` reads what can be read of the past. An entry with `machine:` needs the name of one that is there.',
  },
  'clock-doubted': {
    cause: 'This machine’s clock contradicts the service, a chain, or what the outbox knows.',
    cure: 'Set the clock, and keep it so (NTP). Nothing is collected with a wrong hour; collecting goes on.',
  },
  'chain-behind': {
    cause: 'The chain, or the node, has no block past the hour yet.',
    cure: 'Nothing, if it is minutes. Else the node lags: `tidegauge doctor` says how far.',
  },
  'chain-before-first-block': {
    cause: 'The hour lies before the first block of the chain.',
    cure: 'Set `since` of the collector to a later hour.',
  },
  'chain-unreachable': {
    cause: 'No endpoint of the chain answers in a way that can be understood.',
    cure: '`tidegauge doctor` asks each one. A second endpoint of another host spares the hour.',
  },
  'chain-call-failed': {
    cause: 'The endpoints answer other reads at that block, but fail at this one: often too much for them.',
    cure: 'The message is the node’s. Split the read, or add an endpoint.',
  },
  'chain-disagreement': {
    cause:
      'Endpoints of different hosts answer differently about the same hour: one of them is wrong. Or fewer of them answer than must agree.',
    cure: 'The message has each host and what it answered. Mend the node that is wrong, or take it out of `rpc:`; one that as many others contradict is in quarantine already. The hour stays due.',
  },
  'chain-reorganized': {
    cause: 'A reorganisation replaced the block between two reads.',
    cure: 'Nothing: the hour is read again.',
  },
  'chain-state-missing': {
    cause: 'No endpoint has the state of that hour any more, or the receipts that events are read from.',
    cure: 'Add an archive node, then backfill the gap.',
  },
  'chain-wrong-id': {
    cause: 'The endpoint serves another chain than the configuration says.',
    cure: 'Put a node of the chain that is meant under `rpc`. Change its `id` only where that is not the number of that chain: else the values of another one are stored.',
  },
  'chain-call-reverted': {
    cause: 'The contract refused the call at the block of the hour.',
    cure: 'Check address, function and arguments; before its deployment a contract has no answer (`since`).',
  },
  'chain-call-undecodable': {
    cause:
      'The call returned bytes that its signature does not describe, or events are read of an address without code: often no contract there at that hour.',
    cure: 'Check the address and the signature. `new --chain NAME --address 0x…` asks a contract what it is.',
  },
  'chain-unknown': {
    cause: 'The collector asks for a chain that is not configured.',
    cure: 'Add it under `chains`, or correct the name.',
  },
  'price-unread': {
    cause: 'No source of the price has one for the hour, and one of them cannot be asked: it does not answer.',
    cure: 'The message says why of each source. It is tried again. A total over a list waits for it, whatever `atLeast` is.',
  },
  'price-missing': {
    cause: 'No source of the price has one for the hour: stale, zero, or absent.',
    cure: 'The message says why of each source. Add a second source. What needs the price has no value, and never 0.',
  },
  'price-unknown': {
    cause: 'A price that is asked for is not configured.',
    cure: 'Add it under `prices`, or correct the name.',
  },
  'list-missing': {
    cause: 'A list of addresses cannot be read for the hour: its contract, its node or its source does not answer.',
    cure: 'The message says why. What uses the list has no value. Of a long past, each attempt reads on where the last one ended.',
  },
  'list-unknown': {
    cause: 'A list that is asked for is not configured.',
    cure: 'Add it under `lists`, or correct the name.',
  },
  'http-unreachable': {
    cause: 'An off-chain source does not answer in time, or answers with a transient error.',
    cure: 'Nothing, if it passes: the hour is retried. The message has the host.',
  },
  'http-refused': {
    cause: 'An off-chain source refuses the request: its key, its address, or its terms.',
    cure: 'Check the key and the address. The status is in the message.',
  },
  'http-unexpected': {
    cause: 'The answer of an off-chain source does not fit what the collector expects.',
    cure: 'Look at the answer, and change the pointer or the schema.',
  },
  'service-unreachable': {
    cause: 'The metrics service does not answer, or answers with a transient error.',
    cure: 'Nothing is lost: values wait in the outbox and are delivered when it is back. Ask who runs it.',
  },
  'service-refused': {
    cause: 'The metrics service refused the request.',
    cure: 'Its words are in the message; `tidegauge dead ls` lists metrics that it refuses for good.',
  },
  'service-key-refused': {
    cause: 'The metrics service refused the key.',
    cure: 'Put a valid key into its file or variable: the daemon reads it again.',
  },
  'daemon-unreachable': {
    cause: 'No daemon answers at `status.listen`, or another program does.',
    cure: 'Start the daemon, or correct the address.',
  },
  stopped: {
    cause: 'The process was stopped before the work was done.',
    cure: 'Run it again: it continues where it was.',
  },
}
