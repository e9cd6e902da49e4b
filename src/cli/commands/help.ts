/** Text that the help of a command has below its options. */
export interface CommandHelp {
  /** Sentences about all that no option says. */
  readonly notes?: string
  /** Command lines without `tidegauge`, each with what it does. */
  readonly examples: readonly (readonly [words: string, does: string])[]
  /** When the command ends with 1. Absent where it never does. */
  readonly fails?: string
  /** When it ends with 75. Absent where it never does. */
  readonly whenOwned?: string
}

const ofOutbox = 'the outbox cannot be read'
const fitsNothing = 'nothing fits, or an id is unknown'
const ofMetrics =
  'Ids are metric ids (awesome-vault___TVL) or protocol ids (awesome-vault). Several filters must all fit.'

/** By the words of a command. `docs/cli.md` shows all of it. */
export const commandHelp: Readonly<Record<string, CommandHelp>> = {
  run: {
    notes:
      'It ends on SIGTERM or Ctrl-C, after the pushes under way. SIGHUP, or a changed file, reloads the configuration; a wrong one is refused, and the old one stays. The log is on stderr, a JSON object a line.',
    examples: [
      ['run', 'with ./tidegauge.yaml; its page is at http://127.0.0.1:9464/'],
      ['run --standby', 'a second one, which takes over at once when the first ends'],
    ],
    fails: 'it cannot start, or the outbox is damaged',
    whenOwned: 'another daemon is at work on this outbox',
  },
  collect: {
    notes:
      '--only takes a protocol (awesome-vault) or a collector (awesome-vault/tvl). --catch-up is for a schedule in place of the daemon: hole-free when a run is late or left out; hours that --max-hours leaves are no failure. --dry-run also predicts the warnings of the service.',
    examples: [
      ['collect --dry-run', 'the current hour, shown and not sent'],
      ['collect --only awesome-vault --hour 2026-11-20T13:00:00Z', 'one protocol, a past hour'],
      ['collect --watch --dry-run', 'while you write a collector: again at each save'],
      ['collect --catch-up --max-hours 24', 'in a schedule: a day of hours at most'],
    ],
    fails: 'a value was not collected, not delivered, or is held',
  },
  backfill: {
    notes:
      'Both ends are included. It can be stopped and run again, also while a daemon runs, which then delivers. Collectors that only read the present are left out, and named.',
    examples: [
      ['backfill --from 2026-01-01T00:00:00Z --to 2026-06-30T23:00:00Z --plan', 'hours, RPC calls, duration'],
      ['backfill --from 2026-01-01T00:00:00Z --to 2026-06-30T23:00:00Z', 'read, stored, pushed'],
    ],
    fails: 'an hour could not be read or delivered, or --max-calls ended it; `tidegauge gaps` says which and why',
  },
  flush: {
    notes: 'While a daemon runs, that pushes. A service that asked to wait is sent one small probe.',
    examples: [['flush', 'after a service is back, without waiting for the next try']],
    fails: 'a metric stays due, or was refused for good',
  },
  check: {
    notes: 'Asks no network. A secret that is missing on this machine is a warning.',
    examples: [
      ['check', 'every metric with its unit; or every mistake as file:line:column'],
      ['check --config config/production.yaml --json', 'for a program, as in CI'],
    ],
    fails: 'the machine has no room or memory to load the collectors',
  },
  backup: {
    notes: 'To restore it: docs/deploy/README.md, Backup and restore.',
    examples: [['backup /backup/outbox-2026-11-23.db', 'compact, checked, readable by its owner alone']],
    fails: 'the outbox is damaged: no copy is made',
  },
  move: {
    notes: 'The daemon must be stopped. Counts and digests are compared, and what it copies from is kept.',
    examples: [
      ['move --to postgres', 'into the database that the variable DATABASE_URL names, which must hold no rows'],
      ['move --to folder --folder ./data', 'back into a folder'],
    ],
    fails: 'the database cannot be reached, or a copy differs from its rows',
    whenOwned: 'a daemon is at work on the outbox',
  },
  doctor: {
    notes:
      'A line for each thing that the daemon depends on: configuration, service, clock, key, protocols, nodes (chain, head, depth of state), events, off-chain sources, disk, files, outbox, receivers. ✔ well, ! a warning, ✖ stops delivery or the next hour. It reads the current hour once, and sends no metric and no message.',
    examples: [
      ['doctor', 'before the first run, and when something is wrong'],
      ['doctor --json', '{ ok, findings }'],
    ],
    fails: 'a line is ✖',
  },
  status: {
    examples: [
      ['status', 'hours, what waits, last answers, warnings, whether a daemon runs'],
      ['status --json', 'the same as /status.json of the daemon'],
    ],
    fails: 'something due was not delivered, or no daemon can work',
  },
  explain: {
    notes:
      'Reads again what the collector read, at the same block, and prints each read as a JSON-RPC request with its answer.',
    examples: [
      ['explain awesome-vault___TVL', 'the newest value: block, reads, formula, pushes and their answers'],
      ['explain awesome-vault___TVL 2026-11-20T13:00:00Z', 'that of an hour, or why there is none'],
    ],
    fails: 'there is no value, or it is another one when it is read again',
  },
  history: {
    examples: [
      ['history awesome-vault___TVL', 'the last 48 hours'],
      ['history awesome-vault___TVL --from 2026-11-01T00:00:00Z --csv', 'since then, for a spreadsheet'],
    ],
    fails: 'the metric has no value in that range',
  },
  export: {
    notes:
      'Both ends are included. csv has metric, hour, value, unit and state. openmetrics names all values tidegauge_metric_value, as the daemon does; `promtool tsdb create-blocks-from openmetrics` takes it.',
    examples: [['export --from 2026-11-01T00:00:00Z --to 2026-11-30T23:00:00Z', 'delivered values as CSV on stdout']],
    fails: 'the outbox or the disk cannot be used',
  },
  gaps: {
    examples: [['gaps --only awesome-vault', 'missing hours by reason, with the command that fills them']],
    fails: ofOutbox,
  },
  diff: {
    examples: [
      ['diff --sample 100', 'does the chain still say what was sent?'],
      ['diff --collector ./collectors/tvl.ts', 'the last 24 delivered hours, with a changed collector'],
      ['diff --collector ./new/tvl.ts --only awesome-vault/tvl --hours 168', 'a week, for a file in another place'],
    ],
    fails: 'a value differs, or nothing could be compared',
  },
  'fleet ls': {
    examples: [['fleet ls', 'the daemons, their roles, what counts for all and since when, and who differs']],
  },
  'fleet take service': {
    examples: [
      [
        'fleet take service',
        'after service.url was changed: all deliver to it, those that still have the former do not',
      ],
    ],
  },
  'fleet take collector': {
    examples: [['fleet take collector pools/contract-read', 'the definition in this configuration counts from now on']],
  },
  'lists ls': {
    examples: [['lists ls', 'items of each list, since when they are remembered, and as of which block']],
  },
  'lists forget': {
    examples: [['lists forget pools', 'lets the next hour read it from its beginning']],
  },
  'due ls': {
    notes: ofMetrics,
    examples: [['due ls', 'what waits, and why']],
    fails: fitsNothing,
  },
  'due drop': {
    notes: `${ofMetrics} For metrics of a protocol that is no longer configured.`,
    examples: [['due drop old-vault', 'gives up what the removed protocol left']],
    fails: fitsNothing,
  },
  'dead ls': {
    notes: ofMetrics,
    examples: [['dead ls awesome-vault --reason unit', 'refused metrics, with the words of the service']],
    fails: fitsNothing,
  },
  'dead show': {
    notes: ofMetrics,
    examples: [['dead show awesome-vault___TVL', 'all of each, and what to do']],
    fails: fitsNothing,
  },
  'dead retry': {
    notes: ofMetrics,
    examples: [['dead retry --all', 'after the cause is gone']],
    fails: fitsNothing,
  },
  'dead drop': {
    notes: ofMetrics,
    examples: [['dead drop awesome-vault___TVL --hour 2026-11-20T13:00:00Z', 'one value']],
    fails: fitsNothing,
  },
  'held ls': {
    notes: `${ofMetrics} Held: outside of min and max, a jump beyond maxJump, another unit than before, or no items where there were some.`,
    examples: [['held ls', 'withheld values, and why']],
    fails: fitsNothing,
  },
  'held show': {
    notes: ofMetrics,
    examples: [['held show awesome-vault___TVL', 'all of each, and what to do']],
    fails: fitsNothing,
  },
  'held release': {
    notes: ofMetrics,
    examples: [['held release awesome-vault___TVL', 'the value is right: send it']],
    fails: `${fitsNothing}, or one with another unit stays held`,
  },
  'held drop': {
    notes: ofMetrics,
    examples: [['held drop awesome-vault___TVL', 'the value is wrong: never send it']],
    fails: fitsNothing,
  },
  'warnings ls': {
    examples: [['warnings', 'kind, metric, how often, first and last time']],
    fails: ofOutbox,
  },
  'warnings ack': {
    examples: [['warnings ack awesome-vault___TVL', 'seen; it is counted on']],
    fails: 'no warning fits',
  },
  'notify test': {
    examples: [['notify test', 'one message to each receiver of the configuration']],
    fails: 'a receiver did not accept the message',
  },
  init: {
    notes: 'Asks no network. Files that exist are kept. About packages: docs/collectors-of-others.md.',
    examples: [
      ['init my-values', 'then: cd my-values, npx tidegauge collect --dry-run'],
      ['init --package tides', 'the package tidegauge-collector-tides, with its test'],
    ],
  },
  new: {
    notes:
      'NAME writes collectors/NAME.ts, its test and its recording next to the configuration, and prints the entry for it. With --chain and --address it asks the node of that chain, and prints entries with units and decimals; what it read is on stderr.',
    examples: [
      ['new my-vault', 'a collector of your own'],
      ['new --chain ethereum --address 0x83F20F44975D03b1b09e64809B757c47f942BEeA', 'entries for a contract'],
    ],
    fails: 'the contract is of no known kind, or the node does not answer',
  },
  schema: {
    examples: [['schema > tidegauge.schema.json', 'for the file that init wrote, after a change of options']],
  },
  show: {
    examples: [['show awesome-vault', 'each value with its change of an hour and of a day']],
    fails: 'the service does not answer, or does not know the protocol',
  },
  verify: {
    examples: [
      ['verify', 'missing there, another value, another unit, unknown here'],
      ['verify awesome-vault --repair', 'push again what differs'],
    ],
    fails: 'something differs, or the answer of the service cannot be read',
  },
  register: {
    examples: [['register', 'once; a protocol that you own already is no failure']],
    fails: 'the service refuses a protocol, or does not answer',
  },
  service: {
    notes: 'Keeps to the interface of the real one, on this machine. It ends on SIGTERM or Ctrl-C.',
    examples: [['service', 'with a key of `tidegauge service key create`; it listens on http://127.0.0.1:8787']],
    fails: 'the address is taken, or the disk fails',
  },
  'service key create': {
    examples: [['service key create --out secrets/metrics_key', 'and prints the line for service: key:']],
  },
  'service key ls': {
    examples: [['service key ls', 'name, how it begins, since when, until when']],
  },
  'service key revoke': {
    examples: [['service key revoke local', 'pushes with it are refused with 401']],
  },
  'service key rotate': {
    examples: [['service key rotate local --out secrets/metrics_key --force', 'a running daemon takes the new one']],
  },
  'service protocol public': {
    examples: [['service protocol public awesome-vault', 'anybody may read it']],
  },
  'service protocol private': {
    examples: [['service protocol private awesome-vault', 'its owner alone may read it']],
  },
  devchain: {
    notes:
      'Prints where it is and what is on it: tokens, a vault, a pair, a feed, at the same addresses each time. It lives until Ctrl-C. It runs on anvil, of the packages of this folder or on PATH: npm install --save-dev @foundry-rs/anvil, or https://getfoundry.sh.',
    examples: [
      ['devchain', 'at http://127.0.0.1:18545, as in the tutorial'],
      ['devchain --port 8545', 'at another port'],
    ],
    fails: 'there is no anvil, it ends, or the port is in use',
  },
  healthcheck: {
    notes: 'For alerts, never for restarts: not ready means that a due hour was not delivered. --live is for restarts.',
    examples: [
      ['healthcheck', 'ready, or what is not delivered and why'],
      ['healthcheck --live', 'as the health check of the image'],
    ],
    fails: 'the daemon is not ready (with --live: does not answer)',
  },
}

const columnsMax = 80

/**
 * The help of a command below its options; empty for a group of commands.
 *
 * @param words as typed, without `tidegauge`; empty for the program
 * @param hasConfig whether it takes a configuration
 */
export function helpBelow(words: string, hasConfig: boolean): string {
  if (words === '') return `\n${wrapped(exitCodesText)}`
  const help = commandHelp[words]
  if (!help) return ''
  const { notes, examples, fails, whenOwned } = help
  const lines = examples.flatMap(([typed, does]) => [`  tidegauge ${typed}`, `      ${does}`])
  const codes = [
    ...(fails === undefined ? [] : [`1 when ${fails}`]),
    '2 for a wrong command line, or when what it names is not there',
    ...(whenOwned === undefined ? [] : [`75 when ${whenOwned}`]),
    ...(hasConfig ? ['78 for a wrong configuration, or one that is not there'] : []),
  ]
  return [
    ...(notes === undefined ? [] : ['', wrapped(notes)]),
    '',
    examples.length > 1 ? 'Examples:' : 'Example:',
    ...lines,
    '',
    wrapped(`Ends with ${codes.join('; ')}.`),
  ].join('\n')
}

const exitCodesText =
  'tidegauge COMMAND --help shows examples and when a command ends with what. Exit codes: 0 all done; 1 something was not collected or not delivered, and nothing is lost; 2 a wrong command line; 75 another daemon holds this outbox; 78 a wrong configuration, or one that is not there. Results are printed on stdout, the log on stderr.'

function wrapped(text: string): string {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < columnsMax) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.join('\n')
}
