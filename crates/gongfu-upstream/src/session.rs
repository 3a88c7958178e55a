//! A session with a server: from the start of its program to the end of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gongfu_core::connection::{PinnedTool, SkillOffer, Url};
use gongfu_core::port::{Process, ProcessSpec, Processes};
use gongfu_core::text::{clipped, visible};
use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, ProtocolVersion, ServerNotification,
    SubscriptionFilter,
};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use rmcp::{ClientCacheConfig, ClientLifecycleMode, RoleClient, serve_client_with_lifecycle};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};

use crate::client::Client;
use crate::convert;
use crate::message_limit::{MAX_MESSAGE, MessageLimit};
use crate::request::list_page;
use crate::room::Place;
use crate::sign_in::SignIns;
use crate::stream::PipeWriter;
use crate::token::TokenClient;
use crate::trouble::Trouble;
use crate::upstream::Tools;
use crate::web;

/// The time that a server may take to start, and to list its tools.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// The time that a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// The limits of a list of tools.
const MAX_TOOLS: usize = 20_000;
const MAX_PAGES: usize = 2_000;
/// Why a session ended that sent too much at once.
const TOO_LONG: &str = "it sent a message of more than 32 MiB";
/// The longest line of standard error that is logged, in bytes.
const MAX_LINE: usize = 4_096;

/// A session with a server.
pub(crate) struct Session {
    pub(crate) service: RunningService<RoleClient, Client>,
    /// The reason of its end, once it has ended.
    end: watch::Receiver<Option<String>>,
    /// True once it sent a message that is too long.
    is_exceeded: Arc<AtomicBool>,
    /// The client that was signed in when it started, if one was.
    pub(crate) client: Option<String>,
    /// The tools that the server offers.
    pub(crate) offered: watch::Sender<Tools>,
    /// Its place among the sessions of users.
    #[expect(
        dead_code,
        reason = "the place is taken as long as the session is there"
    )]
    place: Option<Place>,
    /// The time of the approval under which it started.
    pub(crate) approved: i64,
    /// Tells that no more calls come.
    released: Notify,
    /// The skills that it offers, once somebody asked.
    pub(crate) offered_skills: tokio::sync::Mutex<Option<Arc<SkillOffer>>>,
}

impl Session {
    /// Starts a program and a session with it.
    ///
    /// # Errors
    /// Why there can't be one.
    pub(crate) async fn of_program(
        processes: &dyn Processes,
        spec: ProcessSpec,
        log: String,
    ) -> Result<Self, Trouble> {
        let process = processes
            .start(spec)
            .await
            .map_err(|error| Trouble::Other(error.to_string()))?;
        let Process {
            input,
            output,
            error,
            end,
            hold,
        } = process;
        let wrong =
            |error: std::io::Error| Trouble::Other(format!("its pipes can't be used: {error}"));
        let input = PipeWriter::new(input).map_err(wrong)?;
        let output = pipe::Receiver::from_owned_fd(output).map_err(wrong)?;
        let error = pipe::Receiver::from_owned_fd(error).map_err(wrong)?;
        tokio::spawn(drain(error, log));
        let (ended, receiver) = watch::channel(None);
        tokio::spawn(async move {
            let end = tokio::select! {
                end = end => end.unwrap_or_else(|error| error.to_string()),
                () = ended.closed() => "it was stopped".to_owned(),
            };
            drop(hold);
            ended.send_replace(Some(end));
        });
        let (output, is_exceeded) = MessageLimit::new(output, MAX_MESSAGE);
        let transport = AsyncRwTransport::<RoleClient, _, _>::new(output, input)
            .with_max_line_length(usize::MAX);
        let session = Self::start(transport, lifecycle(), receiver, None).await;
        let mut session = session.map_err(|trouble| {
            if is_exceeded.load(Ordering::Acquire) {
                Trouble::Other(TOO_LONG.to_owned())
            } else {
                trouble
            }
        })?;
        session.is_exceeded = is_exceeded;
        Ok(session)
    }

    /// Begins a session at an address.
    ///
    /// # Errors
    /// Why there can't be one.
    pub(crate) async fn of_url(url: &Url, sign_ins: &SignIns) -> Result<Self, Trouble> {
        let preferred = Self::of_url_in(url, sign_ins, lifecycle()).await;
        match preferred {
            // Some older servers answer a question that they don't know as if they did.
            Err(Trouble::Other(_)) => {
                Self::of_url_in(url, sign_ins, ClientLifecycleMode::Initialize).await
            }
            preferred => preferred,
        }
    }

    async fn of_url_in(
        url: &Url,
        sign_ins: &SignIns,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, Trouble> {
        let (client, reach) = web::client(url).map_err(Trouble::Other)?;
        let signed_in = sign_ins.client().await;
        let manager = sign_ins.manager(url, client.clone(), reach).await;
        let manager = manager.map_err(Trouble::Other)?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.url.as_str());
        config.custom_headers = web::headers(url).map_err(Trouble::Other)?;
        let client = TokenClient::new(client, sign_ins.clone(), manager);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let (ended, receiver) = watch::channel(None);
        // It has no end of its own: it is over once nobody holds it.
        tokio::spawn(async move { ended.closed().await });
        Self::start(transport, lifecycle, receiver, signed_in).await
    }

    async fn start<T, E, A>(
        transport: T,
        lifecycle: ClientLifecycleMode,
        mut end: watch::Receiver<Option<String>>,
        client: Option<String>,
    ) -> Result<Self, Trouble>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let connecting = serve_client_with_lifecycle(Client::default(), transport, lifecycle);
        let service = tokio::select! {
            biased;
            connected = tokio::time::timeout(START_TIMEOUT, connecting) => match connected {
                Ok(Ok(service)) => service,
                Ok(Err(error)) => return Err(match Trouble::from(&error) {
                    Trouble::Other(why) => Trouble::Other(soon_ended(&mut end).await.unwrap_or_else(|| format!("it doesn't speak the protocol: {why}"))),
                    trouble => trouble,
                }),
                Err(_) => return Err(Trouble::Other(format!("it didn't answer within {} seconds", START_TIMEOUT.as_secs()))),
            },
            end = ended_of(&mut end) => return Err(Trouble::Other(end)),
        };
        service
            .set_response_cache_config(ClientCacheConfig::disabled())
            .await;
        let session = Self {
            service,
            end,
            is_exceeded: Arc::default(),
            client,
            offered: watch::Sender::new(Arc::default()),
            place: None,
            approved: 0,
            released: Notify::new(),
            offered_skills: tokio::sync::Mutex::default(),
        };
        session.list().await?;
        session.subscribe();
        Ok(session)
    }

    /// Lists the tools of the server again.
    ///
    /// # Errors
    /// It doesn't answer, or too much.
    pub(crate) async fn list(&self) -> Result<(), Trouble> {
        let listing = tokio::time::timeout(START_TIMEOUT, self.all_tools());
        let tools = listing
            .await
            .map_err(|_| Trouble::Other("it didn't list its tools in time".to_owned()))??;
        self.offered.send_replace(Arc::new(tools));
        Ok(())
    }

    async fn all_tools(&self) -> Result<BTreeMap<String, PinnedTool>, Trouble> {
        let has_tools = self
            .service
            .peer_info()
            .is_none_or(|info| info.capabilities.tools.is_some());
        let (mut tools, mut twice) = (BTreeMap::new(), BTreeSet::new());
        if !has_tools {
            return Ok(tools);
        }
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut page = PaginatedRequestParams::default();
            page.cursor = cursor.take();
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page));
            let listed = match list_page(self.service.peer(), request, "tools").await {
                Ok(listed) => listed,
                Err(error) => return Err(self.failure(&error).await),
            };
            for tool in &listed.entries {
                match convert::definition(tool) {
                    Ok(definition) if tools.len() < MAX_TOOLS => {
                        let name = definition.name.clone();
                        if tools
                            .insert(name.clone(), PinnedTool::new(definition))
                            .is_some()
                        {
                            twice.insert(name);
                        }
                    }
                    Ok(_) => {
                        let why = format!("it offers more than {MAX_TOOLS} tools");
                        return Err(Trouble::Other(why));
                    }
                    Err(why) => {
                        let name: String = tool.name.chars().take(64).collect();
                        tracing::warn!("a tool is left out: {name:?}: {why}");
                    }
                }
            }
            cursor = listed.next;
            if cursor.is_none() {
                // Which of them a call would reach is the server's secret.
                for name in twice {
                    tools.remove(&name);
                    tracing::warn!("tools are left out: several are named {name:?}");
                }
                return Ok(tools);
            }
        }
        let why = format!("its list of tools has more than {MAX_PAGES} pages");
        Err(Trouble::Other(why))
    }

    /// Asks a server of the newer revision to tell when its tools or skills change; an older one does by itself.
    fn subscribe(&self) {
        let info = self.service.peer_info();
        if info.is_none_or(|info| info.protocol_version.has_initialize()) {
            return;
        }
        let peer = self.service.peer().clone();
        let client = self.service.service().clone();
        let mut filter = SubscriptionFilter::builder().tools_list_changed();
        if self.has_skills() || self.has_resources() {
            filter = filter.resources_list_changed();
        }
        if self.has_prompts() {
            filter = filter.prompts_list_changed();
        }
        tokio::spawn(async move {
            let Ok(mut subscription) = peer.listen(filter.build()).await else {
                return;
            };
            while let Ok(Some(notification)) = subscription.next().await {
                match notification {
                    ServerNotification::ResourceListChangedNotification(_) => {
                        client.resources_change();
                    }
                    ServerNotification::PromptListChangedNotification(_) => client.prompts_change(),
                    _ => client.tools_change(),
                }
            }
        });
    }

    /// Waits until the server says that its tools changed.
    pub(crate) async fn tools_changed(&self) {
        self.service.service().tools_changed().await;
    }

    /// The same session with its place, under the approval of this time.
    pub(crate) fn placed(self, place: Option<Place>, approved: i64) -> Self {
        Self {
            place,
            approved,
            ..self
        }
    }

    /// Says that no more calls come: it ends with the last one.
    pub(crate) fn release(&self) {
        self.released.notify_one();
    }

    /// Waits until no more calls come.
    pub(crate) async fn released(&self) {
        self.released.notified().await;
    }

    /// Waits for its end; answers how it ended.
    pub(crate) async fn ended(&self) -> String {
        let mut end = self.end.clone();
        let peer = self.service.peer().clone();
        let closed = async move {
            while !peer.is_transport_closed() {
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
        };
        tokio::select! {
            biased;
            end = ended_of(&mut end) => end,
            () = closed => match self.end_within(&mut end.clone()).await {
                Some(end) => end,
                None => "it closed its output".to_owned(),
            },
        }
    }

    /// Why it ended, where that is known within a moment.
    async fn end_within(&self, end: &mut watch::Receiver<Option<String>>) -> Option<String> {
        if self.is_exceeded.load(Ordering::Acquire) {
            return Some(TOO_LONG.to_owned());
        }
        soon_ended(end).await
    }

    /// Returns true once it can't be used any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.borrow().is_some() || self.service.peer().is_transport_closed()
    }

    /// Asks the server whether it is there.
    pub(crate) async fn probe(&self) -> bool {
        let info = self.service.peer_info();
        let is_old = info.is_none_or(|info| info.protocol_version.has_initialize());
        let asking = async {
            if is_old {
                let ping = ClientRequest::PingRequest(rmcp::model::PingRequest::default());
                self.service.peer().send_request(ping).await.map(drop)
            } else {
                let meta = rmcp::model::RequestMetaObject::default();
                self.service.peer().discover(meta).await.map(drop)
            }
        };
        match tokio::time::timeout(PROBE_TIMEOUT, asking).await {
            // An error is an answer as well.
            Ok(Ok(()) | Err(ServiceError::McpError(_))) => true,
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// The name and version by which the server calls itself, and the revision of the protocol.
    pub(crate) fn server(&self) -> (String, String) {
        let Some(info) = self.service.peer_info() else {
            return (String::new(), String::new());
        };
        let server = info.server_info.as_ref();
        let server = server.map(|server| format!("{} {}", server.name, server.version));
        (
            clipped(&visible(&server.unwrap_or_default()), 120, '…'),
            info.protocol_version.to_string(),
        )
    }

    /// Why a request has no answer.
    pub(crate) async fn failure(&self, error: &ServiceError) -> Trouble {
        let is_over = matches!(
            error,
            ServiceError::TransportClosed | ServiceError::TransportSend(_)
        );
        match Trouble::from(error) {
            Trouble::Other(why) if is_over => {
                let end = self.end_within(&mut self.end.clone()).await;
                Trouble::Other(end.unwrap_or(why))
            }
            trouble => trouble,
        }
    }
}

/// The newest revision that a server speaks.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

async fn ended_of(end: &mut watch::Receiver<Option<String>>) -> String {
    match end.wait_for(Option::is_some).await {
        Ok(end) => end.clone().unwrap_or_default(),
        Err(_) => "it was stopped".to_owned(),
    }
}

/// The reason of its end, if it ends within a moment: its output closes before its end is known.
async fn soon_ended(end: &mut watch::Receiver<Option<String>>) -> Option<String> {
    let waiting = tokio::time::timeout(Duration::from_secs(1), ended_of(end));
    waiting.await.ok()
}

/// Logs the standard error of a server line by line, so that it never blocks.
async fn drain(error: pipe::Receiver, log: String) {
    let mut reader = BufReader::new(error);
    let mut line = Vec::new();
    loop {
        let Ok(available) = reader.fill_buf().await else {
            return;
        };
        if available.is_empty() {
            return;
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        let room = MAX_LINE.saturating_sub(line.len());
        line.extend(available.iter().take(taken.min(room)));
        reader.consume(taken);
        if end.is_some() {
            let text = String::from_utf8_lossy(&line);
            tracing::debug!(server = %log, "{}", visible(text.trim_end()));
            line.clear();
        }
    }
}
