//! The calls of the API, common to both transports.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::{Engine, JsonText, Refusal, Warnings};

/// A call of the API, by the name of gRPC's method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call {
    SetConfig,
    GetConfig,
    UpdateConfig,
    AppendConfig,
    DeleteConfig,
    SetControlState,
    SetControlAction,
    GetMetrics,
    GetStates,
    GetCapture,
    GetVersion,
}

/// The reply to a call.
pub(super) enum Reply {
    Json(Value),
    Text(JsonText),
    Octets(Vec<u8>),
}

/// The supported versions of OTG's model: within one major version the model only grows, and
/// unknown parts of a later version are refused by name. Clients compare their version with this
/// range.
const SPECIFICATION: &str = ">=1.0.0,<2.0.0";

/// The version of the model from which the messages were written.
const WRITTEN_BY: &str = "1.62.0";

impl Call {
    /// Returns the call of a gRPC method.
    pub(super) fn of_method(name: &str) -> Option<Self> {
        Some(match name {
            "SetConfig" => Self::SetConfig,
            "GetConfig" => Self::GetConfig,
            "UpdateConfig" => Self::UpdateConfig,
            "AppendConfig" => Self::AppendConfig,
            "DeleteConfig" => Self::DeleteConfig,
            "SetControlState" => Self::SetControlState,
            "SetControlAction" => Self::SetControlAction,
            "GetMetrics" => Self::GetMetrics,
            "GetStates" => Self::GetStates,
            "GetCapture" => Self::GetCapture,
            "GetVersion" => Self::GetVersion,
            _ => return None,
        })
    }

    /// Returns true if the call has no request message.
    pub(super) const fn asks_nothing(self) -> bool {
        matches!(self, Self::GetConfig | Self::GetVersion)
    }

    /// Executes the call.
    pub(super) fn make(self, engine: &dyn Engine, request: &Value) -> Result<Reply, Refusal> {
        let warnings = |warnings: Warnings| Reply::Json(json!({"warnings": warnings}));
        match self {
            Self::SetConfig => engine.set_config(request).map(warnings),
            Self::GetConfig => Ok(Reply::Json(engine.config())),
            Self::UpdateConfig => engine.update_config(request).map(warnings),
            Self::AppendConfig => engine.append_config(request).map(warnings),
            Self::DeleteConfig => engine.delete_config(request).map(warnings),
            Self::SetControlState => engine.control_state(request).map(warnings),
            Self::SetControlAction => engine.control_action(request).map(Reply::Json),
            Self::GetMetrics => engine.metrics(request).map(Reply::Text),
            Self::GetStates => engine.states(request).map(Reply::Json),
            Self::GetCapture => engine.capture(request).map(Reply::Octets),
            Self::GetVersion => Ok(Reply::Json(json!({
                "api_spec_version": SPECIFICATION,
                "sdk_version": WRITTEN_BY,
                "app_version": ground::program::version(),
            }))),
        }
        .map(|reply| match reply {
            Reply::Json(mut value) => {
                without_nulls(&mut value);
                Reply::Json(value)
            }
            // Text has no nulls: the engine wrote it without.
            whole @ (Reply::Text(_) | Reply::Octets(_)) => whole,
        })
    }
}

/// Removes nulls from objects, because clients print them as text or fail on them.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Runs work that may block on a thread for blocking work. A panic of the engine is an internal
/// error of this call only.
pub(super) async fn apart<T: Send + 'static>(
    engine: &Arc<dyn Engine>,
    work: impl FnOnce(&dyn Engine) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let engine = Arc::clone(engine);
    tokio::task::spawn_blocking(move || work(&*engine)).await.unwrap_or_else(|failed| {
        tracing::error!(target: "sluice::otg", "a call has failed: {failed}");
        Err(Refusal::internal("the call has failed in a way that is a mistake of this program"))
    })
}
