//! The gRPC transport: maps methods to calls and converts the messages.
//!
//! A stream of either direction carries the message of the method's unary twin, split into
//! `Data`. Requests are read to their end first, within the bounds of every body; no method needs
//! to answer before its request is complete.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use bytes::{Buf as _, BufMut as _};
use http_body_util::Full;
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor};
use serde_json::{Map, Value};
use tokio_stream::StreamExt as _;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{ClientStreamingService, Grpc, ServerStreamingService, UnaryService};
use tonic::{Code, Status, Streaming};

use super::Shared;
use super::body::{self, BodyError, Whole};
use super::body::{error_body, not_found};
use super::call::{Call, Reply, apart};
use super::limits::{BODY_MAX, CHUNK, STATUS_MAX};
use crate::engine::{JsonText, Refusal, RefusalKind};
use crate::proto;

/// A method and its messages.
#[derive(Clone)]
struct Method {
    call: Call,
    /// The method as it was called; may be a streaming one.
    called: MethodDescriptor,
    /// Its unary twin.
    unary: MethodDescriptor,
    shared: Arc<Shared>,
}

/// Answers a request to `/otg.Openapi/METHOD`.
pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    Path((service, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let kind = request.headers().get(axum::http::header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc")) {
        // A path of two parts may also be the mistake of an HTTP client.
        return not_found(request.uri());
    }
    let method = (service == "otg.Openapi").then(|| Method::find(&name, &shared)).flatten();
    let Some(method) = method else {
        let why = format!("there is no method {name} of {service}; there is service otg.Openapi");
        return Status::unimplemented(why).into_http();
    };
    let (head, body) = request.into_parts();
    let Whole { octets, _place } = match body::read(&shared, &head.headers, body).await {
        Ok(whole) => whole,
        Err(why) => {
            let code = match why {
                BodyError::Long => Code::ResourceExhausted,
                BodyError::Slow => Code::DeadlineExceeded,
                BodyError::Broken => Code::InvalidArgument,
            };
            return Status::new(code, why.to_string()).into_http();
        }
    };
    // Tonic gets a body that was read within the limits already.
    let request = Request::from_parts(head, Full::new(octets));
    let mut door = Grpc::new(Octets).max_decoding_message_size(BODY_MAX);
    let streams = (method.called.is_client_streaming(), method.called.is_server_streaming());
    let answer = match streams {
        (false, false) => door.unary(method, request).await,
        (true, _) => door.client_streaming(method, request).await,
        (false, true) => door.server_streaming(method, request).await,
    };
    answer.map(Body::new)
}

impl Method {
    fn find(name: &str, shared: &Arc<Shared>) -> Option<Self> {
        let unary = name.strip_prefix("stream").unwrap_or(name);
        let (called, unary) = (proto::method(name)?, proto::method(unary)?);
        let call = Call::of_method(unary.name())?;
        Some(Self { call, called, unary, shared: Arc::clone(shared) })
    }

    /// Executes the call. The request is the message inside the method's own.
    async fn make(self, request: Bytes, inside: bool) -> Result<Bytes, Status> {
        let engine = Arc::clone(&self.shared.engine);
        let work = move |engine: &_| {
            let request = match (only_field(&self.unary.input()), inside) {
                (None, _) => Value::Null,
                // A stream carries the bare message, which a unary request wraps.
                (Some(field), true) => proto::decode(message_of(&field)?, request)?,
                (Some(field), false) => {
                    let mut outer = proto::decode(self.unary.input(), request)?;
                    let name = field.name();
                    let inner = outer.get_mut(name).map(Value::take);
                    inner.ok_or_else(|| Refusal::validation(format!("`{name}` is missing")))?
                }
            };
            let reply = self.call.make(engine, &request)?;
            self.pack(reply)
        };
        apart(&engine, work).await.map_err(status)
    }

    /// Encodes the reply: as the method's own message, or bare for a stream.
    fn pack(&self, reply: Reply) -> Result<Bytes, Refusal> {
        let bare = self.called.is_server_streaming();
        let field = only_field(&self.unary.output())
            .ok_or_else(|| Refusal::internal("the answer has no place in its message"))?;
        match reply {
            Reply::Octets(octets) if bare => Ok(octets.into()),
            Reply::Octets(octets) => Ok(field_of_octets(&field, &octets)),
            Reply::Text(JsonText(text)) => {
                let message = proto::encode_text(message_of(&field)?, &text)?;
                if bare { Ok(message.into()) } else { Ok(field_of_octets(&field, &message)) }
            }
            Reply::Json(value) if bare => {
                proto::encode(message_of(&field)?, &value).map(Bytes::from)
            }
            Reply::Json(value) => {
                let outer = Map::from_iter([(field.name().to_owned(), value)]);
                proto::encode(self.unary.output(), &Value::Object(outer)).map(Bytes::from)
            }
        }
    }
}

/// Returns the one field that each non-empty message of a method has.
fn only_field(message: &MessageDescriptor) -> Option<FieldDescriptor> {
    message.fields().next()
}

fn message_of(field: &FieldDescriptor) -> Result<MessageDescriptor, Refusal> {
    match field.kind() {
        Kind::Message(message) => Ok(message),
        _ => Err(Refusal::internal(format!("{} is no message", field.name()))),
    }
}

/// Encodes a message with one bytes field, with a single copy because a capture is large.
fn field_of_octets(field: &FieldDescriptor, octets: &[u8]) -> Bytes {
    let mut message = Vec::with_capacity(octets.len() + 16);
    let wire = prost::encoding::WireType::LengthDelimited;
    prost::encoding::encode_key(field.number(), wire, &mut message);
    prost::encoding::encode_varint(octets.len() as u64, &mut message);
    message.extend_from_slice(octets);
    message.into()
}

/// Converts a refusal to a gRPC status as OTG's clients read it: an error in JSON, bounded to the
/// length of a header.
fn status(refusal: Refusal) -> Status {
    let (code, number, kind) = match refusal.kind {
        RefusalKind::Validation => (Code::InvalidArgument, 400, "validation"),
        RefusalKind::Internal | RefusalKind::Starved => (Code::Internal, 500, "internal"),
    };
    let mut errors = refusal.errors;
    let all = errors.len();
    let text = loop {
        let text = error_body(number, kind, &errors);
        if text.len() <= STATUS_MAX {
            break text;
        }
        if errors.len() > 1 {
            // Half of the list is dropped until the rest fits into a header.
            let left = errors.len().div_ceil(2);
            errors.truncate(left);
            errors.push(format!("and {} more; HTTP gives all of them", all - left));
            if left == 1 {
                errors.truncate(1);
            }
        } else {
            let end = STATUS_MAX / 8;
            errors = vec![errors.concat().chars().take(end).chain("..".chars()).collect()];
        }
    };
    Status::new(code, String::from_utf8_lossy(&text))
}

type Answer<T> = std::pin::Pin<Box<dyn Future<Output = Result<tonic::Response<T>, Status>> + Send>>;

impl UnaryService<Bytes> for Method {
    type Response = Bytes;
    type Future = Answer<Bytes>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let method = self.clone();
        Box::pin(async { method.make(request.into_inner(), false).await.map(tonic::Response::new) })
    }
}

impl ClientStreamingService<Bytes> for Method {
    type Response = Bytes;
    type Future = Answer<Bytes>;

    fn call(&mut self, request: tonic::Request<Streaming<Bytes>>) -> Self::Future {
        let method = self.clone();
        Box::pin(async {
            let mut chunks = request.into_inner();
            let mut whole = Vec::new();
            while let Some(chunk) = chunks.next().await {
                whole.extend_from_slice(&datum(chunk?)?);
            }
            method.make(whole.into(), true).await.map(tonic::Response::new)
        })
    }
}

type Chunks = tokio_stream::Iter<std::vec::IntoIter<Result<Bytes, Status>>>;

impl ServerStreamingService<Bytes> for Method {
    type Response = Bytes;
    type ResponseStream = Chunks;
    type Future = Answer<Chunks>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let method = self.clone();
        Box::pin(async {
            let whole = method.make(request.into_inner(), false).await?;
            let chunks: Vec<_> = whole.chunks(CHUNK).map(|chunk| Ok(data(chunk))).collect();
            Ok(tonic::Response::new(tokio_stream::iter(chunks)))
        })
    }
}

/// A chunk of a stream.
#[derive(Clone, PartialEq, prost::Message)]
struct Data {
    #[prost(uint64, tag = "1")]
    chunk_size: u64,
    #[prost(bytes = "bytes", tag = "2")]
    datum: Bytes,
}

fn data(chunk: &[u8]) -> Bytes {
    let data = Data { chunk_size: chunk.len() as u64, datum: Bytes::copy_from_slice(chunk) };
    prost::Message::encode_to_vec(&data).into()
}

fn datum(octets: Bytes) -> Result<Bytes, Status> {
    let data: Result<Data, _> = prost::Message::decode(octets);
    data.map(|data| data.datum)
        .map_err(|e| status(Refusal::validation(format!("a part of the stream is no Data: {e}"))))
}

/// Messages as bytes on the wire; [`proto`] decodes them.
struct Octets;

impl Codec for Octets {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Octets {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Octets {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
