/** Reporters to people: the heartbeat, and notifications of troubles. */
export type Reporter = 'heartbeat' | 'notify'

/** Memory of what was reported to people, so that a restart repeats nothing. Methods reject with errors that `OutboxHealth` classifies and explains. */
export interface ReportStore {
  /** The state that a reporter saved last, as JSON; `undefined` before the first. */
  read(reporter: Reporter): Promise<string | undefined>
  /** Replaces the state of a reporter. It resolves when a power cut cannot undo it. @param state JSON */
  save(reporter: Reporter, state: string): Promise<void>
}
