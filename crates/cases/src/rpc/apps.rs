//! Applications over RPC: clients and ApplicationMasters.
//! May touch: the cluster's connections.
//! Must not: read facts for comparison.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use hadoop_ipc::{
    client::{Auth, Client, ClientOptions},
    token::Token,
};
use yarn_proto::{
    convert::{app_id, app_id_proto},
    yarn::{
        AllocateRequestProto, AllocateResponseProto, ApplicationReportProto, ContainerIdProto,
        ContainerUpdateTypeProto, GetApplicationAttemptReportRequestProto,
        GetApplicationAttemptReportResponseProto, GetApplicationReportRequestProto,
        GetApplicationReportResponseProto, GetNewApplicationRequestProto,
        GetNewApplicationResponseProto, KillApplicationRequestProto, KillApplicationResponseProto,
        MoveApplicationAcrossQueuesRequestProto, MoveApplicationAcrossQueuesResponseProto,
        PriorityProto, RegisterApplicationMasterRequestProto,
        RegisterApplicationMasterResponseProto, ResourceBlacklistRequestProto, ResourceProto,
        ResourceRequestProto, SubmitApplicationRequestProto, SubmitApplicationResponseProto,
        UpdateApplicationPriorityRequestProto, UpdateApplicationPriorityResponseProto,
        UpdateContainerRequestProto, YarnApplicationAttemptStateProto, YarnApplicationStateProto,
    },
};
use yarn_types::ApplicationId;

use super::{CLIENT, Remote, refusal, resource_proto, submission::context, text};
use crate::{
    steps::{Ask, AskList, Complete, Resize, ResizeKind, Submit, Which, WhichName},
    target::Done,
    value::Res,
};

const MASTER: &str = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";
/// Longest wait for a state of an application.
const STATE_S: u64 = 20;
/// Wait for the start of an AM after a heartbeat.
const START_MS: u64 = 400;
const POLL: Duration = Duration::from_millis(10);

/// A container that an application got.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub id: ContainerIdProto,
    /// Name of its node.
    pub node: String,
    pub size: ResourceProto,
    pub version: i32,
    pub is_am: bool,
    pub live: bool,
}

/// An application of the case.
pub(super) struct SimApp {
    pub id: ApplicationId,
    pub client: Client,
    pub master: Option<Client>,
    pub response_id: i32,
    /// Everything ever granted, in order.
    pub held: Vec<Held>,
    pub headroom: Option<ResourceProto>,
    pub managed: bool,
    pub done: bool,
}

/// What an allocate call says.
#[derive(Default)]
struct Wish {
    ask: Vec<ResourceRequestProto>,
    release: Vec<ContainerIdProto>,
    blacklist: Option<ResourceBlacklistRequestProto>,
    updates: Vec<UpdateContainerRequestProto>,
}

impl Remote {
    pub(super) fn sim(&mut self, app: &str) -> Done<&mut SimApp> {
        self.apps
            .get_mut(app)
            .ok_or_else(|| format!("there is no application {app}"))
    }

    fn client(&mut self, user: &str) -> Done<Client> {
        let address = self.cluster()?.rm.at("rm.client")?;
        self.runtime.block_on(Self::connect(address, CLIENT, user))
    }

    pub(super) fn submit_app(&mut self, submit: &Submit) -> Done {
        let client = self.client(&submit.user)?;
        let request = GetNewApplicationRequestProto {};
        let answer: GetNewApplicationResponseProto = self
            .runtime
            .block_on(client.call("getNewApplication", &request))
            .map_err(text)?;
        let proto = answer.application_id.ok_or("no application id")?;
        let id = app_id(&proto).ok_or("malformed application id")?;
        let managed = !submit.am.is_zero();
        let context = context(submit, proto, managed);
        let request = SubmitApplicationRequestProto {
            application_submission_context: Some(context),
        };
        let sent: Result<SubmitApplicationResponseProto, _> = self
            .runtime
            .block_on(client.call("submitApplication", &request));
        let app = SimApp {
            id,
            client,
            master: None,
            response_id: 0,
            held: Vec::new(),
            headroom: None,
            managed,
            done: false,
        };
        self.apps.insert(submit.app.clone(), app);
        sent.map_err(refusal)?;
        let accepted = [
            YarnApplicationStateProto::Accepted,
            YarnApplicationStateProto::Running,
            YarnApplicationStateProto::Failed,
        ];
        let report = self.wait_for(&submit.app, &accepted)?;
        let failed = report.yarn_application_state() == YarnApplicationStateProto::Failed;
        if failed {
            self.sim(&submit.app)?.done = true;
        } else if !managed {
            self.register_unmanaged(&submit.app)?;
        } else if self.cluster()?.rm.stock {
            self.wait_scheduled(&submit.app)?;
        }
        Ok(())
    }

    /// The stock ResourceManager accepts an application before its attempt is in its queue.
    fn wait_scheduled(&mut self, app: &str) -> Done {
        let deadline = Instant::now() + Duration::from_secs(STATE_S);
        while Instant::now() < deadline {
            let application_attempt_id = self.report(app)?.current_application_attempt_id;
            let request = GetApplicationAttemptReportRequestProto {
                application_attempt_id,
            };
            let runtime = self.runtime.handle().clone();
            let call = "getApplicationAttemptReport";
            let answer: Result<GetApplicationAttemptReportResponseProto, _> =
                runtime.block_on(self.sim(app)?.client.call(call, &request));
            let report = answer.ok().and_then(|a| a.application_attempt_report);
            let state = report.map(|r| r.yarn_application_attempt_state());
            if state.is_some_and(|state| {
                state as i32 >= YarnApplicationAttemptStateProto::AppAttemptScheduled as i32
            }) {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
        Err(format!("{app} has no scheduled attempt after {STATE_S} s"))
    }

    fn register_unmanaged(&mut self, app: &str) -> Done {
        let deadline = Instant::now() + Duration::from_secs(STATE_S);
        loop {
            let report = self.report(app)?;
            if let Some(proto) = report.am_rm_token {
                return self.register_master(app, Token::from(proto));
            }
            if Instant::now() > deadline {
                return Err(format!("{app} has no AMRMToken after {STATE_S} s"));
            }
            std::thread::sleep(POLL);
        }
    }

    fn register_master(&mut self, app: &str, token: Token) -> Done {
        let address = self.cluster()?.rm.at("rm.scheduler")?;
        let runtime = self.runtime.handle().clone();
        let options = ClientOptions::default();
        let connect = Client::connect(address.to_string(), MASTER, Auth::Token { token }, options);
        let master = runtime.block_on(connect).map_err(text)?;
        let request = RegisterApplicationMasterRequestProto {
            host: Some("127.0.0.1".to_owned()),
            rpc_port: Some(0),
            tracking_url: Some(String::new()),
            ..Default::default()
        };
        let _: RegisterApplicationMasterResponseProto = runtime
            .block_on(master.call("registerApplicationMaster", &request))
            .map_err(text)?;
        self.sim(app)?.master = Some(master);
        Ok(())
    }

    /// After a heartbeat: whether the AM of `app` was started; registers every AM that was.
    pub(super) fn master_started(&mut self, app: &str) -> Done<bool> {
        let deadline = Instant::now() + Duration::from_millis(START_MS);
        loop {
            while let Ok(started) = self.cluster()?.started.try_recv() {
                let found = self.apps.iter().find(|(_, sim)| sim.id == started.app);
                let Some(name) = found.map(|(name, _)| name.clone()) else {
                    continue;
                };
                self.register_master(&name, started.token)?;
                let size = started.size;
                self.sim(&name)?.held.insert(
                    0,
                    Held {
                        id: started.container,
                        node: started.node,
                        size,
                        version: 0,
                        is_am: true,
                        live: true,
                    },
                );
            }
            if self.sim(app)?.master.is_some() {
                return Ok(true);
            }
            if Instant::now() > deadline {
                return Ok(false);
            }
            std::thread::sleep(POLL);
        }
    }

    pub(super) fn report(&mut self, app: &str) -> Done<ApplicationReportProto> {
        let runtime = self.runtime.handle().clone();
        let sim = self.sim(app)?;
        let request = GetApplicationReportRequestProto {
            application_id: Some(app_id_proto(sim.id)),
        };
        let answer: GetApplicationReportResponseProto = runtime
            .block_on(sim.client.call("getApplicationReport", &request))
            .map_err(text)?;
        answer
            .application_report
            .ok_or_else(|| "an empty report".to_owned())
    }

    fn wait_for(
        &mut self,
        app: &str,
        states: &[YarnApplicationStateProto],
    ) -> Done<ApplicationReportProto> {
        let deadline = Instant::now() + Duration::from_secs(STATE_S);
        loop {
            let report = self.report(app)?;
            if states.contains(&report.yarn_application_state()) {
                return Ok(report);
            }
            if Instant::now() > deadline {
                return Err(format!(
                    "{app} is {:?} after {STATE_S} s, not one of {states:?}",
                    report.yarn_application_state()
                ));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Acquires what was granted.
    pub(super) fn pull(&mut self, app: &str) -> Done {
        if self.sim(app)?.master.is_none() || self.sim(app)?.done {
            return Ok(());
        }
        self.allocate(app, Wish::default())
    }

    fn allocate(&mut self, app: &str, wish: Wish) -> Done {
        let runtime = self.runtime.handle().clone();
        let sim = self.sim(app)?;
        let master = sim
            .master
            .as_ref()
            .ok_or_else(|| format!("{app} has no registered AM"))?;
        let request = AllocateRequestProto {
            ask: wish.ask,
            release: wish.release,
            blacklist_request: wish.blacklist,
            update_requests: wish.updates,
            response_id: Some(sim.response_id),
            progress: Some(0.5),
            ..Default::default()
        };
        let answer: AllocateResponseProto = runtime
            .block_on(master.call("allocate", &request))
            .map_err(refusal)?;
        self.take(app, answer)
    }

    fn take(&mut self, app: &str, answer: AllocateResponseProto) -> Done {
        let nodes: BTreeMap<String, String> = answer
            .allocated_containers
            .iter()
            .filter_map(|c| c.node_id.as_ref())
            .map(|node| (node.host().to_owned(), self.node_named(node.host())))
            .collect();
        let sim = self.sim(app)?;
        sim.response_id = answer.response_id();
        sim.headroom.clone_from(&answer.limit);
        for granted in answer.allocated_containers {
            let host = granted.node_id.map(|node| node.host().to_owned());
            sim.held.push(Held {
                id: granted.id.unwrap_or_default(),
                node: nodes
                    .get(&host.unwrap_or_default())
                    .cloned()
                    .unwrap_or_default(),
                size: granted.resource.unwrap_or_default(),
                version: granted.version.unwrap_or(0),
                is_am: false,
                live: true,
            });
        }
        for updated in answer.updated_containers {
            let id = updated.container.id;
            for held in &mut sim.held {
                if Some(held.id) == id {
                    held.size = updated.container.resource.clone().unwrap_or_default();
                    held.version = updated.container.version.unwrap_or(held.version + 1);
                }
            }
        }
        for ended in answer.completed_container_statuses {
            for held in &mut sim.held {
                held.live &= Some(held.id) != ended.container_id;
            }
        }
        Ok(())
    }

    fn request(
        &self,
        at: &str,
        count: i32,
        relax: bool,
        priority: i32,
        size: &Res,
    ) -> ResourceRequestProto {
        ResourceRequestProto {
            priority: Some(PriorityProto {
                priority: Some(priority),
            }),
            resource_name: Some(self.place(at)),
            capability: Some(resource_proto(size)),
            num_containers: Some(count),
            relax_locality: Some(relax),
            allocation_request_id: Some(0),
            ..Default::default()
        }
    }

    pub(super) fn ask_once(&mut self, ask: &Ask) -> Done {
        let mut request = self.request("*", ask.count, true, ask.priority, &ask.size);
        request.node_label_expression = ask
            .label
            .as_deref()
            .map(|label| if label == "default" { "" } else { label }.to_owned());
        let wish = Wish {
            ask: vec![request],
            ..Wish::default()
        };
        self.allocate(&ask.app, wish)
    }

    pub(super) fn ask_places(&mut self, asks: &AskList) -> Done {
        if asks.label.is_some() {
            return Err("ask_list with a label runs in process only".to_owned());
        }
        let requests = asks.requests.iter();
        let ask = requests
            .map(|r| self.request(&r.at, r.count, r.relax, asks.priority, &asks.size))
            .collect();
        let wish = Wish {
            ask,
            ..Wish::default()
        };
        self.allocate(&asks.app, wish)
    }

    pub(super) fn change_blacklist(
        &mut self,
        app: &str,
        add: &[String],
        remove: &[String],
    ) -> Done {
        let places = |list: &[String]| list.iter().map(|place| self.place(place)).collect();
        let blacklist = ResourceBlacklistRequestProto {
            blacklist_additions: places(add),
            blacklist_removals: places(remove),
        };
        let wish = Wish {
            blacklist: Some(blacklist),
            ..Wish::default()
        };
        self.allocate(app, wish)
    }

    pub(super) fn beat(&mut self, node: &str) -> Done {
        let runtime = self.runtime.handle().clone();
        let cluster = self.cluster()?;
        let sim = cluster
            .nodes
            .get_mut(node)
            .ok_or_else(|| format!("there is no node {node}"))?;
        runtime.block_on(sim.heartbeat())?;
        self.quiet()
    }

    pub(super) fn end_containers(&mut self, complete: &Complete) -> Done {
        let sim = self.sim(&complete.app)?;
        let tasks: Vec<Held> = sim
            .held
            .iter()
            .filter(|held| held.live && !held.is_am)
            .cloned()
            .collect();
        let mut chosen: Vec<Held> = match complete.containers {
            Some(Which::Named(_)) => tasks,
            Some(Which::Newest(count)) => tasks.into_iter().rev().take(count).collect(),
            None => Vec::new(),
        };
        for number in &complete.ids {
            chosen.push(self.numbered(&complete.app, *number)?);
        }
        let mut release = Vec::new();
        for held in chosen {
            let node = self.cluster()?.nodes.get_mut(&held.node);
            match node.filter(|node| node.reports(&held.id)) {
                Some(node) => node.end(held.id),
                None => release.push(held.id),
            }
            for own in &mut self.sim(&complete.app)?.held {
                own.live &= own.id != held.id;
            }
        }
        let wish = Wish {
            release,
            ..Wish::default()
        };
        self.allocate(&complete.app, wish)?;
        let all = complete.containers == Some(Which::Named(WhichName::All));
        if all && self.sim(&complete.app)?.managed {
            self.kill(&complete.app)?;
        }
        Ok(())
    }

    /// Container number 1 is the first that was granted.
    fn numbered(&mut self, app: &str, number: u64) -> Done<Held> {
        let at = number
            .checked_sub(1)
            .and_then(|at| usize::try_from(at).ok());
        let held = &self.sim(app)?.held;
        at.and_then(|at| held.get(at).cloned())
            .ok_or_else(|| format!("there is no container number {number}"))
    }

    pub(super) fn kill(&mut self, app: &str) -> Done {
        let runtime = self.runtime.handle().clone();
        let sim = self.sim(app)?;
        sim.done = true;
        for held in &mut sim.held {
            held.live = false;
        }
        let request = KillApplicationRequestProto {
            application_id: Some(app_id_proto(sim.id)),
            ..Default::default()
        };
        let deadline = Instant::now() + Duration::from_secs(STATE_S);
        loop {
            let sim = self.sim(app)?;
            let answer: KillApplicationResponseProto = runtime
                .block_on(sim.client.call("forceKillApplication", &request))
                .map_err(text)?;
            if answer.is_kill_completed() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("{app} lives {STATE_S} s after it was killed"));
            }
            std::thread::sleep(POLL);
        }
    }

    pub(super) fn move_to(&mut self, app: &str, queue: &str) -> Done {
        let runtime = self.runtime.handle().clone();
        let sim = self.sim(app)?;
        let request = MoveApplicationAcrossQueuesRequestProto {
            application_id: app_id_proto(sim.id),
            target_queue: queue.to_owned(),
        };
        let call = sim.client.call("moveApplicationAcrossQueues", &request);
        let _: MoveApplicationAcrossQueuesResponseProto =
            runtime.block_on(call).map_err(refusal)?;
        Ok(())
    }

    pub(super) fn change_priority(&mut self, app: &str, priority: i32) -> Done {
        let runtime = self.runtime.handle().clone();
        let sim = self.sim(app)?;
        let request = UpdateApplicationPriorityRequestProto {
            application_id: app_id_proto(sim.id),
            application_priority: PriorityProto {
                priority: Some(priority),
            },
        };
        let call = sim.client.call("updateApplicationPriority", &request);
        let _: UpdateApplicationPriorityResponseProto = runtime.block_on(call).map_err(refusal)?;
        Ok(())
    }

    pub(super) fn resize_container(&mut self, resize: &Resize) -> Done {
        let held = self.numbered(&resize.app, resize.container)?;
        let node = held.node.clone();
        if let Some(sim) = self.cluster()?.nodes.get_mut(&node)
            && !sim.reports(&held.id)
        {
            // only a launched container can change its size
            sim.run(held.id);
            self.beat(&node)?;
        }
        let kind = match resize.kind {
            ResizeKind::Increase => ContainerUpdateTypeProto::IncreaseResource,
            ResizeKind::Decrease => ContainerUpdateTypeProto::DecreaseResource,
        };
        let update = UpdateContainerRequestProto {
            container_version: held.version,
            container_id: held.id,
            update_type: kind as i32,
            capability: Some(resource_proto(&resize.to)),
            execution_type: None,
        };
        let wish = Wish {
            updates: vec![update],
            ..Wish::default()
        };
        self.allocate(&resize.app, wish)
    }

    /// A submission makes the queue; the application is killed at once.
    pub(super) fn create_by_submission(&mut self, path: &str) -> Done {
        let name = format!("maker of {path}");
        let submit = Submit {
            app: name.clone(),
            queue: path.to_owned(),
            user: "maker".to_owned(),
            am: Res::Memory(1),
            priority: None,
            am_label: None,
            state: None,
            message: None,
        };
        self.submit_app(&submit)?;
        let report = self.report(&name)?;
        if report.yarn_application_state() == YarnApplicationStateProto::Failed {
            return Err(report.diagnostics().to_owned());
        }
        self.kill(&name)
    }
}
