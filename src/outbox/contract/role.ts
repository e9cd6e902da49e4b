/** An exclusive right of one process in an outbox, until released or the process ends. */
export interface Role {
  /** Gives the role up. */
  release(): void
  /** Whether the role is where it was taken: a person may have deleted or replaced its lock file. */
  readonly isInPlace: boolean
  /**
   * Takes the role again when its file was replaced.
   *
   * @returns `renewed` when it was taken again, `lost` when another process has it
   */
  renew(): 'held' | 'renewed' | 'lost'
}

/** The process that has a role. */
export interface RoleHolder {
  /** Its process id. */
  readonly pid: number
  /** When it took the role, as ISO 8601 text. */
  readonly since: string
  /** Path of its configuration file. */
  readonly config: string
  /** Name of its host, where it may be another one. */
  readonly host?: string
  /** Its name in its fleet. */
  readonly name?: string
}

/** Who works on an outbox, as commands see it: daemons, or one command that delivers while there is none. */
export interface Roles {
  /**
   * Takes the delivery role for a command.
   *
   * @throws Fault `outbox-held` when another process has it, or a daemon is starting
   */
  takeDelivery(nowMs: number): Promise<Role>
  /**
   * The process that has the delivery role, as far as is known of it; `undefined` when there is none. Takes and changes
   * nothing.
   */
  deliverer(): Promise<Partial<RoleHolder> | undefined>
  /**
   * A daemon, as `deliverer`. It may still wait for the delivery role or its outbox.
   *
   * @param name of several, the one that is preferred
   */
  daemon(name?: string): Promise<Partial<RoleHolder> | undefined>
}

/**
 * The two roles of an outbox of one daemon. `daemon`: that daemon. `delivery`: the process that delivers from it, daemon
 * or command. A command releases it when there is a daemon, so that a long flush or backfill never keeps one from starting.
 */
export interface DaemonRoles extends Roles {
  /**
   * Takes the role of the daemon.
   *
   * @throws Fault `outbox-held` when another daemon has it, with its pid and start
   */
  takeDaemon(nowMs: number): Promise<Role>
  /**
   * Takes the delivery role for the daemon; `undefined` while a command has it. The command releases it when it sees the
   * daemon.
   */
  takeDeliveryAsDaemon(nowMs: number): Promise<Role | undefined>
}
